//! The files of a log: `<6-digit number>.jsonl`, numbered from 1.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use quire_index::IoError;

/// The file of that number.
pub(crate) fn path_of(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:06}.jsonl"))
}

/// Number and length of each file, ascending; none without the folder.
pub(crate) fn list(folder: &Path) -> Result<Vec<(u64, u64)>, IoError> {
    let listing = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(IoError::of("list", folder))?,
    };
    let mut files = Vec::new();
    for entry in listing {
        let entry = entry.map_err(IoError::of("list", folder))?;
        let path = entry.path();
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        // What is named otherwise is not the log's to touch.
        if let Some(number) = number
            && path == path_of(folder, number)
        {
            let metadata = entry.metadata().map_err(IoError::of("inspect", &path))?;
            files.push((number, metadata.len()));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Bytes up to and with the last line end; what follows is a record that a
/// kill or a full disk cut short.
pub(crate) fn whole_lines(file: &mut File) -> io::Result<u64> {
    const BLOCK: u64 = 64 << 10;
    let mut end = file.metadata()?.len();
    let mut block = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        block.clear();
        file.take(end - start).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Waits until a folder's entries are on the disk, where the system can.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), IoError> {
    if cfg!(unix) {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(IoError::of("sync", folder))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_with_a_number_for_a_name_are_the_logs() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "000010.jsonl",
            "000002.jsonl",
            "2.jsonl",
            "notes.jsonl",
            "000003.json",
            "lock",
        ] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(list(folder.path()).unwrap(), [(2, 12), (10, 12)]);
        assert!(list(&folder.path().join("nothing")).unwrap().is_empty());
    }

    #[test]
    fn whole_lines_end_at_the_last_line_end_however_long_the_rest_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let long = "y".repeat(200_000);
        for (content, whole) in [
            (String::new(), 0),
            ("no end".to_owned(), 0),
            ("a\nb\n".to_owned(), 4),
            ("a\nb\ntorn".to_owned(), 4),
            (format!("a\n{long}"), 2),
            (format!("{long}\n{long}"), 200_001),
            (long.clone(), 0),
        ] {
            fs::write(&path, &content).unwrap();
            let mut file = File::open(&path).unwrap();
            assert_eq!(whole_lines(&mut file).unwrap(), whole);
        }
    }
}

//! Which parts of an EPUB are encrypted, and by what.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::archive::Archive;
use super::href::resolve;
use super::required;
use crate::read::markup::{Markup, walk_xml};
use crate::read::report::Problems;
use crate::read::{ReadError, ReadOptions};

const ENCRYPTION: &str = "META-INF/encryption.xml";

/// Algorithms that only mangle fonts, which are never read.
const FONT_MANGLING: &[&str] = &[
    "http://www.idpf.org/2008/embedding",
    "http://ns.adobe.com/pdf/enc#RC",
];

/// The files that copy protections leave in an archive.
const SCHEMES: &[(&str, &str)] = &[
    ("META-INF/license.lcpl", "Readium LCP"),
    ("META-INF/sinf.xml", "Apple FairPlay"),
    ("META-INF/rights.xml", "Adobe ADEPT"),
];

/// What is encrypted.
#[derive(Debug)]
pub(super) struct Protection {
    /// The paths of the encrypted files.
    pub(super) encrypted: HashSet<String>,
    /// The copy protection, as far as its traces tell.
    pub(super) scheme: &'static str,
}

impl Protection {
    /// Reads what the archive says about encryption. A list of encrypted
    /// files that cannot be read is a problem, not the end: an encrypted
    /// chapter will still be found not to be text.
    pub(super) fn of(
        archive: &mut Archive<'_>,
        options: &ReadOptions,
        problems: &mut Problems<'_>,
    ) -> Result<Self, ReadError> {
        let scheme = SCHEMES
            .iter()
            .find(|(path, _)| archive.has(path))
            .map_or("by an unknown protection", |(_, scheme)| scheme);
        let mut encrypted = HashSet::new();
        if archive.has(ENCRYPTION) {
            match required(archive, ENCRYPTION, options) {
                Ok(document) => match parse(&document, options.limits.max_depth) {
                    Ok(paths) => encrypted = paths,
                    Err(what) => problems.add(ENCRYPTION, what)?,
                },
                Err(error @ ReadError::Excessive { .. }) => return Err(error),
                Err(error) => problems.add(ENCRYPTION, error)?,
            }
        }
        Ok(Self { encrypted, scheme })
    }
}

fn parse(document: &str, max_depth: usize) -> Result<HashSet<String>, String> {
    let mut paths = HashSet::new();
    let mut mangles_fonts = false;
    walk_xml(document, max_depth, |markup| {
        let Markup::Start { name, attributes } = markup else {
            return ControlFlow::Continue(());
        };
        let attribute = |name: &str| {
            let found = attributes.iter().find(|(key, _)| key == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        match name {
            "encrypteddata" => mangles_fonts = false,
            // The key inside an element has a method too, after the data's.
            "encryptionmethod" => {
                mangles_fonts |= FONT_MANGLING.contains(&attribute("algorithm"));
            }
            "cipherreference" if !mangles_fonts => paths.extend(resolve("", attribute("uri"))),
            _ => {}
        }
        ControlFlow::Continue(())
    })
    .map_err(|error| error.to_string())?;
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_fonts_are_no_encryption() {
        let document = "<encryption>
            <enc:EncryptedData><enc:EncryptionMethod Algorithm='http://www.idpf.org/2008/embedding'/>
              <enc:CipherData><enc:CipherReference URI='a.otf'/></enc:CipherData></enc:EncryptedData>
            <enc:EncryptedData><enc:EncryptionMethod Algorithm='http://www.w3.org/2001/04/xmlenc#aes256-cbc'/>
              <enc:CipherData><enc:CipherReference URI='O/ch%201.xhtml'/></enc:CipherData></enc:EncryptedData>
            </encryption>";
        let paths = parse(document, 64).unwrap();
        assert_eq!(paths, HashSet::from(["O/ch 1.xhtml".to_owned()]));
        assert!(parse("<encryption>", 64).is_err());
    }
}

/// The answers a question accepts.
///
/// Of a multiple choice they are each right option's text and its letter, for
/// either may be given as the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GoldAnswers(Vec<String>);

/// An answer of a multiple choice that is none of its options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer {0:?} is none of the options")]
pub struct NotAnOption(pub String);

impl GoldAnswers {
    /// Of a free answer; also of a choice whose letters are already among
    /// them.
    pub fn new<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self(texts.into_iter().map(Into::into).collect())
    }

    /// Of a multiple choice: the texts of its right options, to which their
    /// letters are added, `A` for the first option. Of equal options the
    /// first gives the letter.
    ///
    /// # Errors
    /// When an answer is not exactly an option, among the 26 that have a
    /// letter.
    pub fn of_choice<O, A>(options: &[O], answers: &[A]) -> Result<Self, NotAnOption>
    where
        O: AsRef<str>,
        A: AsRef<str>,
    {
        let mut texts = Vec::with_capacity(2 * answers.len());
        for answer in answers {
            let answer = answer.as_ref();
            let right = ('A'..='Z')
                .zip(options)
                .find(|(_, option)| option.as_ref() == answer);
            let Some((letter, _)) = right else {
                return Err(NotAnOption(answer.to_owned()));
            };
            texts.extend([answer.to_owned(), letter.to_string()]);
        }
        Ok(Self(texts))
    }

    /// The answers, in the order they were given.
    pub fn texts(&self) -> &[String] {
        &self.0
    }

    pub(super) fn contain(&self, text: &str) -> bool {
        self.0.iter().any(|answer| answer == text)
    }
}

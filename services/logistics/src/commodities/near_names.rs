//! Names that are near a misspelt or incomplete one.

/// The names that are suggested for an unknown one.
const MAX_SUGGESTIONS: usize = 3;
/// The least similarity of a suggestion.
const MIN_SIMILARITY: f64 = 0.4;

/// The pairs of adjacent characters of the words of a text, in order, with the blanks around each word.
#[derive(Debug)]
pub(super) struct Spelling(Vec<[char; 2]>);

impl Spelling {
    /// Returns the spelling of a text, without regard to case.
    pub(super) fn of(text: &str) -> Self {
        let mut pairs = Vec::new();
        for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
        {
            let mut before = ' ';
            for c in word.chars().chain([' ']) {
                pairs.push([before, c]);
                before = c;
            }
        }
        pairs.sort_unstable();
        Self(pairs)
    }

    /// Returns the Sørensen–Dice coefficient of two spellings: 0 to 1.
    fn similarity(&self, other: &Self) -> f64 {
        let (mut a, mut b, mut common) = (self.0.iter().peekable(), other.0.iter().peekable(), 0_u32);
        while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
            match left.cmp(right) {
                std::cmp::Ordering::Less => {
                    a.next();
                }
                std::cmp::Ordering::Greater => {
                    b.next();
                }
                std::cmp::Ordering::Equal => {
                    common += 1;
                    a.next();
                    b.next();
                }
            }
        }
        let all = u32::try_from(self.0.len() + other.0.len()).unwrap_or(u32::MAX).max(1);
        2.0 * f64::from(common) / f64::from(all)
    }
}

/// Returns the names with the most similar spellings, the most similar first. A name may have several spellings.
pub(super) fn near_names<'a>(
    text: &str,
    names: impl Iterator<Item = (&'a str, &'a [Spelling])>,
) -> Vec<&'a str> {
    let spelling = Spelling::of(text);
    let best = |spellings: &[Spelling]| {
        spellings.iter().map(|known| known.similarity(&spelling)).fold(0.0, f64::max)
    };
    let mut near: Vec<_> = names.map(|(name, spellings)| (best(spellings), name)).collect();
    near.retain(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

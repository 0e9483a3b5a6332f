//! Many labels against one set: what filters a scan.

use std::fmt;
use std::sync::Arc;

use hashbrown::HashSet;

use super::authorizations::{Authorizations, escaped};
pub use super::cache::MAX_CACHED_LABEL_LENGTH;
use super::cache::VerdictCache;
use super::error::VisibilityError;
use super::evaluate::evaluate_with;
use super::expression::VisibilityExpression;

/// How many distinct labels an evaluator remembers unless told otherwise. At ordinary label lengths
/// that is at most 0.8 MB, and only for scans that meet that many.
pub const DEFAULT_CACHED_LABELS: usize = 4096;

/// May this reader see the entry?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Yes.
    Visible,
    /// No: the label asks for names that are not held.
    Hidden,
    /// No: the label breaks the grammar, so nobody sees the entry.
    Unparsable,
}

impl Verdict {
    /// May the entry be shown?
    #[must_use]
    pub const fn is_visible(self) -> bool {
        matches!(self, Self::Visible)
    }
}

/// Decides labels against one set of authorizations and remembers the verdicts.
///
/// Make one for each scan and thread. Memory stays bounded however many distinct labels are met.
/// A clone shares the set and starts with nothing remembered and nothing counted.
///
/// ```
/// use ostrakon_cell::visibility::{Authorizations, VisibilityEvaluator, VisibilityExpression};
///
/// let held = Authorizations::parse("eu")?;
/// let mut evaluator = VisibilityEvaluator::new(&held)
///     .with_default_label(&VisibilityExpression::parse("staff").expect("sound"));
/// assert!(evaluator.evaluate(b"eu|us").is_visible());
/// assert!(!evaluator.evaluate(b"").is_visible(), "no label counts as staff");
/// assert!(!evaluator.evaluate(b"eu|").is_visible(), "unparsable");
/// assert_eq!(evaluator.unparsable(), 1);
/// # Ok::<(), ostrakon_cell::visibility::AuthorizationsError>(())
/// ```
pub struct VisibilityEvaluator {
    /// The names held, with `"` and `\` escaped: a quoted term is then looked up as it stands.
    held: Arc<HashSet<Box<[u8]>>>,
    /// The verdict on entries without a label.
    unlabelled: Verdict,
    cache: VerdictCache,
    unparsable: u64,
    first_error: Option<VisibilityError>,
}

impl VisibilityEvaluator {
    /// For a reader who holds `authorizations`; entries without a label are visible;
    /// [`DEFAULT_CACHED_LABELS`] are remembered.
    #[must_use]
    pub fn new(authorizations: &Authorizations) -> Self {
        let held = authorizations
            .iter()
            .map(|name| escaped(name).into_owned().into_boxed_slice());
        Self {
            held: Arc::new(held.collect()),
            unlabelled: Verdict::Visible,
            cache: VerdictCache::new(DEFAULT_CACHED_LABELS),
            unparsable: 0,
            first_error: None,
        }
    }

    /// Treats entries without a label as if they carried `label`: the table property
    /// `table.security.scan.visibility.default`.
    #[must_use]
    pub fn with_default_label(mut self, label: &VisibilityExpression) -> Self {
        self.unlabelled = match decide(label.as_bytes(), &self.held) {
            Ok(verdict) => verdict,
            Err(_) => Verdict::Unparsable,
        };
        self
    }

    /// Remembers about `labels` distinct labels, at most twice as many; 0 remembers none but the
    /// decision stays the same. Each costs about 100 bytes at ordinary length.
    #[must_use]
    pub fn with_cached_labels(mut self, labels: usize) -> Self {
        self.cache = VerdictCache::new(labels);
        self
    }

    /// Decides one label, given as the bytes of the key's column visibility.
    #[inline]
    pub fn evaluate(&mut self, label: &[u8]) -> Verdict {
        if label.is_empty() {
            return self.unlabelled;
        }
        let (held, first_error) = (&self.held, &mut self.first_error);
        let verdict = self.cache.get_or_decide(label, || {
            decide(label, held).unwrap_or_else(|error| {
                first_error.get_or_insert(error);
                Verdict::Unparsable
            })
        });
        if verdict == Verdict::Unparsable {
            self.unparsable += 1;
        }
        verdict
    }

    /// How many calls of [`evaluate`](Self::evaluate) met a label that breaks the grammar: entries
    /// that nobody can see. Worth a warning when it is not 0.
    #[must_use]
    pub const fn unparsable(&self) -> u64 {
        self.unparsable
    }

    /// What was wrong with the first such label. It does not hold the label, so it may be logged.
    #[must_use]
    pub const fn first_error(&self) -> Option<VisibilityError> {
        self.first_error
    }
}

fn decide(label: &[u8], held: &HashSet<Box<[u8]>>) -> Result<Verdict, VisibilityError> {
    let visible = evaluate_with(label, |raw| held.contains(raw))?;
    Ok(if visible {
        Verdict::Visible
    } else {
        Verdict::Hidden
    })
}

impl Clone for VisibilityEvaluator {
    fn clone(&self) -> Self {
        Self {
            held: Arc::clone(&self.held),
            unlabelled: self.unlabelled,
            cache: VerdictCache::new(self.cache.max_labels()),
            unparsable: 0,
            first_error: None,
        }
    }
}

/// Counts only: labels and names stay out of logs.
impl fmt::Debug for VisibilityEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VisibilityEvaluator")
            .field("held", &self.held.len())
            .field("unlabelled", &self.unlabelled)
            .field("unparsable", &self.unparsable)
            .finish_non_exhaustive()
    }
}

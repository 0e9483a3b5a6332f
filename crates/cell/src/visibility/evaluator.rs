//! Evaluates many labels against one set of authorizations, to filter a scan.

use std::fmt;
use std::sync::Arc;

use hashbrown::HashSet;

use super::authorizations::{Authorizations, escaped};
pub use super::cache::MAX_CACHED_LABEL_LENGTH;
use super::cache::VerdictCache;
use super::error::VisibilityError;
use super::evaluate::evaluate_with;
use super::expression::VisibilityExpression;

/// Default for the number of distinct labels an evaluator caches. At ordinary label lengths they
/// take at most 0.8 MB, and only in scans that read that many.
pub const DEFAULT_CACHED_LABELS: usize = 4096;

/// Whether a reader may see an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The reader may see it.
    Visible,
    /// Hidden: the reader lacks authorizations.
    Hidden,
    /// Hidden: the label is malformed, so no reader may see the entry.
    Unparsable,
}

impl Verdict {
    /// Whether the entry may be shown.
    #[must_use]
    pub const fn is_visible(self) -> bool {
        matches!(self, Self::Visible)
    }
}

/// Evaluates labels against one set of authorizations and caches the verdicts.
///
/// Create one per scan and thread. Memory is bounded however many distinct labels there are. A
/// clone shares the set and starts with an empty cache and zero counts.
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
    /// The names held, with `"` and `\` escaped, so that a quoted term can be looked up without
    /// unescaping.
    held: Arc<HashSet<Box<[u8]>>>,
    /// The verdict on entries without a label.
    unlabelled: Verdict,
    cache: VerdictCache,
    unparsable: u64,
    first_error: Option<VisibilityError>,
}

impl VisibilityEvaluator {
    /// For a reader with `authorizations`; entries without a label are visible;
    /// [`DEFAULT_CACHED_LABELS`] verdicts are cached.
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

    /// Caches the verdicts of about `labels` distinct labels, at most twice as many; 0 disables the
    /// cache and does not change the verdicts. Each costs about 100 bytes at ordinary length.
    #[must_use]
    pub fn with_cached_labels(mut self, labels: usize) -> Self {
        self.cache = VerdictCache::new(labels);
        self
    }

    /// Evaluates one label, given as the bytes of the key's column visibility.
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

    /// Number of calls of [`evaluate`](Self::evaluate) with a malformed label: entries that no
    /// reader may see. A number above 0 deserves a warning.
    #[must_use]
    pub const fn unparsable(&self) -> u64 {
        self.unparsable
    }

    /// The error of the first malformed label. It does not hold the label, so it may be logged.
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

/// Shows counts only: labels and names stay out of logs.
impl fmt::Debug for VisibilityEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VisibilityEvaluator")
            .field("held", &self.held.len())
            .field("unlabelled", &self.unlabelled)
            .field("unparsable", &self.unparsable)
            .finish_non_exhaustive()
    }
}

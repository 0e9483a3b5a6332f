//! The authorizations of a reader: a set of names.

use std::borrow::Cow;
use std::fmt;

use super::base64;
use super::parse::is_plain;

/// Accumulo's prefix of a serialised set, which tells it from a plain comma-separated list.
const HEADER: &[u8] = b"!AUTH1:";

/// A set of authorizations: names that a reader holds. Names are byte strings, never empty, and
/// sorted as unsigned bytes.
///
/// A name that is not UTF-8 can be held, as in Accumulo, but no label can require it.
///
/// ```
/// use ostrakon_cell::visibility::Authorizations;
///
/// let held = Authorizations::parse("eu, analyst")?;
/// assert!(held.contains(b"analyst"));
/// assert_eq!(held.to_string(), "analyst,eu");
/// assert_eq!(held.serialise(), "!AUTH1:YW5hbHlzdA==,ZXU=");
/// assert_eq!(Authorizations::deserialise(b"!AUTH1:YW5hbHlzdA==,ZXU=")?, held);
///
/// // A scan may ask for a part of what its user holds.
/// assert!(Authorizations::new(["eu"])?.is_subset(&held));
/// # Ok::<(), ostrakon_cell::visibility::AuthorizationsError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Authorizations {
    /// Sorted, no duplicates, no empty name.
    names: Vec<Box<[u8]>>,
}

impl Authorizations {
    /// The empty set: sees only entries without a label.
    #[must_use]
    pub const fn empty() -> Self {
        Self { names: Vec::new() }
    }

    /// The set of these names, in any order, duplicates allowed, each taken as given.
    ///
    /// # Errors
    ///
    /// An empty name; the position is its index.
    pub fn new<N: AsRef<[u8]>>(
        names: impl IntoIterator<Item = N>,
    ) -> Result<Self, AuthorizationsError> {
        let mut set = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            let name = name.as_ref();
            if name.is_empty() {
                return Err(AuthorizationsError {
                    kind: AuthorizationsErrorKind::EmptyName,
                    position: index,
                });
            }
            set.push(name.into());
        }
        Ok(Self::from_unsorted(set))
    }

    /// Reads a comma-separated list as a user types it: `analyst,eu`. White space around a name is
    /// dropped; the empty text is the empty set. A name that contains a comma needs
    /// [`Authorizations::new`].
    ///
    /// # Errors
    ///
    /// An empty name; the position is the byte where it should start.
    pub fn parse(list: &str) -> Result<Self, AuthorizationsError> {
        if list.trim().is_empty() {
            return Ok(Self::empty());
        }
        let mut names = Vec::new();
        let mut position = 0;
        for part in list.split(',') {
            let name = part.trim();
            if name.is_empty() {
                return Err(AuthorizationsError {
                    kind: AuthorizationsErrorKind::EmptyName,
                    position,
                });
            }
            names.push(name.as_bytes().into());
            position += part.len() + 1;
        }
        Ok(Self::from_unsorted(names))
    }

    /// Accumulo's serialised form: `!AUTH1:`, then the names in order, in base64 and separated by
    /// commas.
    #[must_use]
    pub fn serialise(&self) -> String {
        let mut text = String::from_utf8_lossy(HEADER).into_owned();
        for (index, name) in self.names.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            base64::encode(name, &mut text);
        }
        text
    }

    /// Reads the serialised form. Bytes without the `!AUTH1:` header are read as a comma-separated
    /// list, the form of old Accumulo versions.
    ///
    /// # Errors
    ///
    /// An empty name or invalid base64, with the byte position.
    pub fn deserialise(bytes: &[u8]) -> Result<Self, AuthorizationsError> {
        let Some(list) = bytes.strip_prefix(HEADER) else {
            return match std::str::from_utf8(bytes) {
                Ok(list) => Self::parse(list),
                Err(bad) => Err(AuthorizationsError {
                    kind: AuthorizationsErrorKind::InvalidUtf8,
                    position: bad.valid_up_to(),
                }),
            };
        };
        if list.is_empty() {
            return Ok(Self::empty());
        }
        let mut names = Vec::new();
        let mut position = HEADER.len();
        for part in list.split(|byte| *byte == b',') {
            let name = base64::decode(part).map_err(|offset| AuthorizationsError {
                kind: AuthorizationsErrorKind::BadBase64,
                position: position + offset,
            })?;
            if name.is_empty() {
                return Err(AuthorizationsError {
                    kind: AuthorizationsErrorKind::EmptyName,
                    position,
                });
            }
            names.push(name.into_boxed_slice());
            position += part.len() + 1;
        }
        Ok(Self::from_unsorted(names))
    }

    /// Whether the name is held.
    #[must_use]
    pub fn contains(&self, name: &[u8]) -> bool {
        self.names
            .binary_search_by(|held| held.as_ref().cmp(name))
            .is_ok()
    }

    /// Whether the name is held that a label writes as `raw`, the text between quotes with its
    /// escapes.
    pub(super) fn contains_escaped(&self, raw: &[u8]) -> bool {
        if !raw.contains(&b'\\') {
            return self.contains(raw);
        }
        self.names
            .binary_search_by(|held| held.iter().copied().cmp(unescaped(raw)))
            .is_ok()
    }

    /// The names in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.names.iter().map(AsRef::as_ref)
    }

    /// Number of names held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether `other` holds every name of this set. A scan's authorizations must be a subset of
    /// its user's.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.names.iter().all(|name| other.contains(name))
    }

    /// The names held here and not by `other`, for an error message about excess authorizations.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self {
            names: self
                .names
                .iter()
                .filter(|name| !other.contains(name))
                .cloned()
                .collect(),
        }
    }

    /// The names held here or by `other`.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::from_unsorted(self.names.iter().chain(&other.names).cloned().collect())
    }

    fn from_unsorted(mut names: Vec<Box<[u8]>>) -> Self {
        names.sort_unstable();
        names.dedup();
        Self { names }
    }
}

/// Removes the backslashes of a quoted term.
pub(super) fn unescaped(raw: &[u8]) -> impl Iterator<Item = u8> {
    let mut bytes = raw.iter().copied();
    std::iter::from_fn(move || match bytes.next()? {
        b'\\' => bytes.next(),
        byte => Some(byte),
    })
}

/// Writes `name` with a backslash before each quote and backslash.
pub(super) fn escaped(name: &[u8]) -> Cow<'_, [u8]> {
    if !name.iter().any(|byte| matches!(byte, b'"' | b'\\')) {
        return Cow::Borrowed(name);
    }
    let escape = |byte: &u8| {
        matches!(byte, b'"' | b'\\')
            .then_some(b'\\')
            .into_iter()
            .chain([*byte])
    };
    Cow::Owned(name.iter().flat_map(escape).collect())
}

/// The names in order, separated by commas; a name that a label would have to quote is quoted.
impl fmt::Display for Authorizations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.names.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            let text = escaped(name);
            let text = String::from_utf8_lossy(&text);
            if name.iter().all(|byte| is_plain(*byte)) {
                f.write_str(&text)?;
            } else {
                write!(f, "\"{text}\"")?;
            }
        }
        Ok(())
    }
}

/// Shows the names only.
impl fmt::Debug for Authorizations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authorizations({self})")
    }
}

/// A list of authorizations that cannot be parsed: what is wrong and where. It holds no names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthorizationsError {
    kind: AuthorizationsErrorKind,
    position: usize,
}

/// What is wrong with a list of authorizations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthorizationsErrorKind {
    /// A name without characters.
    EmptyName,
    /// A name in a serialised set that is not base64.
    BadBase64,
    /// A comma list that is not UTF-8.
    InvalidUtf8,
}

impl AuthorizationsError {
    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> AuthorizationsErrorKind {
        self.kind
    }

    /// The position: the byte in a text, the index in a list of names, counted from 0.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }
}

impl std::error::Error for AuthorizationsError {}

impl fmt::Display for AuthorizationsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            AuthorizationsErrorKind::EmptyName => {
                "a name is empty; write names with single commas between, as in analyst,eu"
            }
            AuthorizationsErrorKind::BadBase64 => {
                "a serialised name is not base64; the stored authorizations are damaged, set them again"
            }
            AuthorizationsErrorKind::InvalidUtf8 => "the list is not UTF-8; encode it as UTF-8",
        };
        write!(f, "authorizations, position {}: {what}", self.position)
    }
}

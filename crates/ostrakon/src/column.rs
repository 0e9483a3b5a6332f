//! The two names of a column.

/// A column: a family and a qualifier. Made of a pair of strings or bytes, so that it is rarely named:
/// `("contact", "mail")`.
///
/// ```
/// use ostrakon::Column;
///
/// let column = Column::from(("contact", b"mail"));
/// assert_eq!((column.family, column.qualifier), (&b"contact"[..], &b"mail"[..]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column<'a> {
    /// The column family.
    pub family: &'a [u8],
    /// The column qualifier.
    pub qualifier: &'a [u8],
}

impl<'a, F, Q> From<(&'a F, &'a Q)> for Column<'a>
where
    F: AsRef<[u8]> + ?Sized,
    Q: AsRef<[u8]> + ?Sized,
{
    fn from((family, qualifier): (&'a F, &'a Q)) -> Self {
        Self {
            family: family.as_ref(),
            qualifier: qualifier.as_ref(),
        }
    }
}

impl<'a, F, Q> From<&'a (F, Q)> for Column<'a>
where
    F: AsRef<[u8]>,
    Q: AsRef<[u8]>,
{
    fn from((family, qualifier): &'a (F, Q)) -> Self {
        Self {
            family: family.as_ref(),
            qualifier: qualifier.as_ref(),
        }
    }
}

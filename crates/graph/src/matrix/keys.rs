//! Many keys in one buffer.

/// A list of byte strings, kept end to end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keys {
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
}

impl Keys {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Key number `at`.
    ///
    /// # Panics
    /// When there are not that many.
    #[must_use]
    #[inline]
    pub fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    /// Appends a key.
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// The keys in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// All keys end to end.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where each key ends in [`bytes`](Self::bytes).
    #[must_use]
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// The position of `key` in a sorted list.
    #[must_use]
    pub fn find_sorted(&self, key: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle).cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// The positions in the order of their keys.
    pub(crate) fn sorted_positions(&self) -> Vec<u32> {
        // Eight bytes decide nearly every comparison without a look at the buffer.
        let mut order: Vec<(u64, u32)> = self
            .iter()
            .enumerate()
            .map(|(at, key)| (leading(key), at as u32))
            .collect();
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0)
                .then_with(|| self.get(a.1 as usize).cmp(self.get(b.1 as usize)))
        });
        order.into_iter().map(|(_, at)| at).collect()
    }

    /// These positions' keys.
    pub(crate) fn pick(&self, positions: &[u32]) -> Self {
        let mut picked = Self {
            bytes: Vec::new(),
            ends: Vec::with_capacity(positions.len()),
        };
        for &at in positions {
            picked.push(self.get(at as usize));
        }
        picked
    }
}

fn leading(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = key.len().min(8);
    first[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(first)
}

impl<K: AsRef<[u8]>> FromIterator<K> for Keys {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut list = Self::new();
        for key in keys {
            list.push(key.as_ref());
        }
        list
    }
}

/// The place of each position among the sorted ones: the inverse of
/// [`sorted_positions`](Keys::sorted_positions).
pub(crate) fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (rank, &at) in order.iter().enumerate() {
        ranks[at as usize] = rank as u32;
    }
    ranks
}

//! The bytes of rows and values.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;

/// The bytes of the rows of a batch, once they are copied: of the slices alone.
pub(in crate::checked::windows) fn bytes_of(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(bytes_of_array).sum()
}

/// The same of an array. A slice of a list has all values of the list as its child, of which those of the slice count.
pub(in crate::checked::windows) fn bytes_of_array(array: &ArrayRef) -> usize {
    let nulls = array.nulls().map_or(0, |nulls| nulls.len().div_ceil(8));
    let own = match array.data_type() {
        DataType::Utf8View => {
            let texts = array.as_string_view();
            size_of_val::<[u128]>(texts.views()) + long_views(texts.views())
        }
        DataType::BinaryView => {
            let values = array.as_binary_view();
            size_of_val::<[u128]>(values.views()) + long_views(values.views())
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(bytes_of_array).sum(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            return bytes_of_leaf(&dictionary.keys().slice(0, array.len()))
                + bytes_of_array(dictionary.values());
        }
        _ => match Child::of(array) {
            Some(child) => child.offsets + bytes_of_array(&child.values),
            None => return bytes_of_leaf(array),
        },
    };
    nulls + own
}

fn bytes_of_leaf(array: &ArrayRef) -> usize {
    let slice = array.to_data().get_slice_memory_size();
    slice.unwrap_or_else(|_| array.get_array_memory_size())
}

/// The bytes of values apart from what every row has. The sum over the parts of an array is that of the array, so that
/// rows may come and go in parts of any size.
pub(super) fn bytes_of_values(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8 => text_bytes(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => text_bytes(array.as_string::<i64>().value_offsets()),
        DataType::Binary => text_bytes(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => text_bytes(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => long_views(array.as_string_view().views()),
        DataType::BinaryView => long_views(array.as_binary_view().views()),
        DataType::Struct(_) => array
            .as_struct()
            .columns()
            .iter()
            .map(bytes_of_values)
            .sum(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            if dictionary.values().is_empty() {
                return 0;
            }
            // A value is copied for each row.
            let keys = dictionary.normalized_keys().into_iter();
            keys.map(|key| bytes_of_values(&dictionary.values().slice(key, 1)))
                .sum()
        }
        DataType::FixedSizeBinary(width) => array.len() * usize::try_from(*width).unwrap_or(0),
        kind => match (kind.primitive_width(), Child::of(array)) {
            (Some(width), _) => array.len() * width,
            (None, Some(child)) => bytes_of_values(&child.values),
            (None, None) => array.len(),
        },
    }
}

fn text_bytes<T: OffsetSizeTrait>(offsets: &[T]) -> usize {
    let (first, last) = ends(offsets);
    last - first
}

fn ends<T: OffsetSizeTrait>(offsets: &[T]) -> (usize, usize) {
    let at = |offset: Option<&T>| offset.map_or(0, |offset| offset.as_usize());
    (at(offsets.first()), at(offsets.last()))
}

/// The bytes that are not in the views themselves, which begin with the length.
fn long_views(views: &[u128]) -> usize {
    const INLINE: usize = 12;
    let lengths = views
        .iter()
        .map(|view| usize::try_from(*view & u128::from(u32::MAX)).unwrap_or(usize::MAX));
    lengths.filter(|length| *length > INLINE).sum()
}

/// The values that the rows of an array of lists or maps have, and the bytes of the offsets.
struct Child {
    offsets: usize,
    values: ArrayRef,
}

impl Child {
    fn of(array: &ArrayRef) -> Option<Self> {
        fn part<T: OffsetSizeTrait>(offsets: &[T], values: &dyn Array) -> Child {
            let (first, last) = ends(offsets);
            Child {
                offsets: size_of_val(offsets),
                values: values.slice(first, last - first),
            }
        }
        match array.data_type() {
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                Some(part(lists.value_offsets(), lists.values()))
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                Some(part(lists.value_offsets(), lists.values()))
            }
            DataType::Map(..) => {
                let maps = array.as_map();
                Some(part(maps.value_offsets(), maps.entries()))
            }
            DataType::FixedSizeList(..) => Some(Self {
                offsets: 0,
                values: Arc::clone(array.as_fixed_size_list().values()),
            }),
            _ => None,
        }
    }
}

/// The bytes of a value that are not in the value itself.
pub(super) fn bytes_of_value(value: &ScalarValue) -> usize {
    let nested: ArrayRef = match value {
        ScalarValue::List(list) => Arc::clone(list) as ArrayRef,
        ScalarValue::LargeList(list) => Arc::clone(list) as ArrayRef,
        ScalarValue::FixedSizeList(list) => Arc::clone(list) as ArrayRef,
        ScalarValue::Struct(fields) => Arc::clone(fields) as ArrayRef,
        ScalarValue::Map(map) => Arc::clone(map) as ArrayRef,
        other => return other.size().saturating_sub(size_of::<ScalarValue>()),
    };
    bytes_of_array(&nested)
}

/// The bytes of texts that a batch holds and none of its rows has: parts of a batch share all texts of it.
pub(in crate::checked::windows) fn bytes_of_unused(batch: &RecordBatch) -> usize {
    let unused = batch.columns().iter().map(|column| {
        let (held, used) = texts_of(column);
        held.saturating_sub(used)
    });
    unused.sum()
}

/// Copies texts where an array holds more than twice those of its rows. Neither a slice nor a copy of rows frees them, and
/// rows that are added bring all texts of theirs.
pub(in crate::checked::windows) fn with_own_texts(array: &ArrayRef) -> ArrayRef {
    let (held, used) = texts_of(array);
    match array.data_type() {
        DataType::Utf8View if held > 2 * used => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView if held > 2 * used => Arc::new(array.as_binary_view().gc()),
        _ => Arc::clone(array),
    }
}

/// The bytes of long texts that an array of views holds, and those that its rows have; none for others.
fn texts_of(array: &ArrayRef) -> (usize, usize) {
    let (buffers, views) = match array.data_type() {
        DataType::Utf8View => {
            let texts = array.as_string_view();
            (texts.data_buffers(), texts.views())
        }
        DataType::BinaryView => {
            let values = array.as_binary_view();
            (values.data_buffers(), values.views())
        }
        _ => return (0, 0),
    };
    (buffers.iter().map(Buffer::len).sum(), long_views(views))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{DictionaryArray, ListArray, StringArray, StringViewArray};
    use datafusion::arrow::datatypes::{Int32Type, Int64Type};

    use super::*;

    fn arrays() -> Vec<ArrayRef> {
        let texts = ["a", "a text of more than twelve bytes", "", "bc"];
        let lists = (0..4).map(|row| Some((0..row).map(Some).collect::<Vec<_>>()));
        vec![
            Arc::new(StringArray::from(texts.to_vec())),
            Arc::new(StringViewArray::from(texts.to_vec())),
            Arc::new(DictionaryArray::<Int32Type>::from_iter(texts)),
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
        ]
    }

    #[test]
    fn values_count_the_same_in_parts() {
        for array in arrays() {
            let parts = (0..array.len()).map(|row| bytes_of_values(&array.slice(row, 1)));
            let kind = array.data_type();
            assert_eq!(parts.sum::<usize>(), bytes_of_values(&array), "{kind}");
        }
    }

    #[test]
    fn slices_of_lists_count_the_values_of_their_rows() {
        let lists: ArrayRef = Arc::clone(&arrays()[3]);
        // Two offsets, and no value or three.
        assert_eq!(bytes_of_array(&lists.slice(0, 1)), 8);
        assert_eq!(bytes_of_array(&lists.slice(3, 1)), 8 + 3 * 8);
    }

    #[test]
    fn long_texts_of_others_are_freed() {
        let texts: ArrayRef = Arc::clone(&arrays()[1]);
        let (with, without) = (texts.slice(1, 1), texts.slice(2, 2));
        assert_eq!(texts_of(&without), (32, 0));
        assert_eq!(texts_of(&with_own_texts(&without)), (0, 0));
        assert_eq!(texts_of(&with_own_texts(&with)), (32, 32));
        assert_eq!(with_own_texts(&without).as_ref(), without.as_ref());
    }
}

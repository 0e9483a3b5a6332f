//! Encodings of typed values whose bytes sort as the values do.
//!
//! Keys sort as unsigned bytes. A number written as text sorts wrongly ("10" before "9"); written with these
//! encodings, ranges and sorting work. The bytes are those of Accumulo's classes in
//! `org.apache.accumulo.core.client.lexicoder`, so that Java programs read them:
//!
//! | function | class in Accumulo | bytes |
//! |---|---|---|
//! | [`encode_u64`], [`encode_u32`] | `ULongLexicoder`, `UIntegerLexicoder` | a length and 0 to 8 (4) bytes, big-endian |
//! | [`encode_i64`], [`encode_i32`] | `LongLexicoder`, `IntegerLexicoder` | as above, with the sign bit flipped |
//! | [`encode_f64`], [`encode_f32`] | `DoubleLexicoder`, `FloatLexicoder` | as above, of the IEEE 754 bits in an order of their own |
//! | [`encode_i64`] of milliseconds | `DateLexicoder` | as `i64` |
//! | [`encode_uuid`] | `UUIDLexicoder` | 16, ordered as Java orders them |
//! | none | `StringLexicoder`, `BytesLexicoder` | the bytes themselves |
//! | [`reverse`] | `ReverseLexicoder` | escaped and inverted: sorts in descending order |
//! | [`push_part`] | `PairLexicoder`, `ListLexicoder` | escaped parts with a zero byte between them |
//!
//! `encode_…` appends to a buffer and allocates nothing else. `decode_…` takes exactly the bytes of one value and
//! returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for all other bytes.
//!
//! ```
//! use ostrakon_cell::lexicoder::{decode_i64, encode_i64};
//! let encode = |number| {
//!     let mut bytes = Vec::new();
//!     encode_i64(number, &mut bytes);
//!     bytes
//! };
//! assert!(encode(-10) < encode(-9) && encode(9) < encode(10));
//! assert_eq!(decode_i64(&encode(-9))?, -9);
//! # Ok::<(), ostrakon_cell::Error>(())
//! ```

mod composite;
mod number;
#[cfg(test)]
mod tests;

pub use composite::{decode_reversed, parts, push_part, reverse};
pub use number::{
    decode_f32, decode_f64, decode_i32, decode_i64, decode_u32, decode_u64, decode_uuid,
    encode_f32, encode_f64, encode_i32, encode_i64, encode_u32, encode_u64, encode_uuid,
};

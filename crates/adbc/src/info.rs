//! What the driver says of itself.

use std::collections::HashSet;
use std::sync::Arc;

use adbc_core::constants::ADBC_VERSION_1_1_0;
use adbc_core::error::Result;
use adbc_core::options::InfoCode;
use adbc_core::schemas::GET_INFO_SCHEMA;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array, UnionArray,
    new_empty_array,
};
use arrow_schema::{ArrowError, DataType};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A value, in the member of the union that it is in.
enum Value {
    Text(&'static str),
    Flag(bool),
    Number(i64),
}

fn known() -> [(InfoCode, Value); 7] {
    [
        (InfoCode::VendorName, Value::Text("Ostrakon")),
        (InfoCode::VendorVersion, Value::Text(VERSION)),
        (InfoCode::VendorSql, Value::Flag(true)),
        (InfoCode::VendorSubstrait, Value::Flag(false)),
        (InfoCode::DriverName, Value::Text("ADBC Ostrakon Driver")),
        (InfoCode::DriverVersion, Value::Text(VERSION)),
        (
            InfoCode::DriverAdbcVersion,
            Value::Number(ADBC_VERSION_1_1_0.into()),
        ),
    ]
}

/// The information that is asked for, or all. Codes that are not known have no row.
pub(crate) fn info(codes: Option<&HashSet<InfoCode>>) -> Result<RecordBatch> {
    let (mut names, mut types, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    let (mut texts, mut flags, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for (code, value) in known() {
        if codes.is_some_and(|asked| !asked.contains(&code)) {
            continue;
        }
        names.push(u32::from(&code));
        let (member, offset) = match value {
            Value::Text(text) => {
                texts.push(text);
                (0_i8, texts.len())
            }
            Value::Flag(flag) => {
                flags.push(flag);
                (1, flags.len())
            }
            Value::Number(number) => {
                numbers.push(number);
                (2, numbers.len())
            }
        };
        types.push(member);
        offsets.push(i32::try_from(offset - 1).unwrap_or_default());
    }
    let schema = GET_INFO_SCHEMA.clone();
    let DataType::Union(members, _) = schema.field(1).data_type() else {
        return Err(ArrowError::SchemaError("the values are not a union".to_owned()).into());
    };
    let children = members.iter().map(|(member, field)| -> ArrayRef {
        match member {
            0 => Arc::new(StringArray::from(texts.clone())),
            1 => Arc::new(BooleanArray::from(flags.clone())),
            2 => Arc::new(Int64Array::from(numbers.clone())),
            _ => new_empty_array(field.data_type()),
        }
    });
    let values = UnionArray::try_new(
        members.clone(),
        types.into(),
        Some(offsets.into()),
        children.collect(),
    )?;
    let columns: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(names)), Arc::new(values)];
    debug_assert_eq!(columns[0].len(), columns[1].len());
    Ok(RecordBatch::try_new(schema, columns)?)
}

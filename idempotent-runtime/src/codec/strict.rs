//! Walks a value as `Serialize` shows it, and refuses what JSON would silently change.

use std::fmt::{self, Display};

use serde::ser::{self, Impossible, Serialize, Serializer};

/// Refuses non-finite floats (JSON writes `null`), map keys that are not strings, and `Some` of
/// something that is written as `null` (it would come back as `None`).
pub(super) fn check<T: Serialize + ?Sized>(value: &T) -> Result<(), String> {
    value
        .serialize(Check)
        .map(drop)
        .map_err(|refusal| refusal.0)
}

/// The value's JSON with every list sorted: equal for sets that differ in order only.
pub(super) fn unordered<T: Serialize + ?Sized>(value: &T) -> Option<String> {
    fn sorted(value: serde_json::Value) -> String {
        use serde_json::Value;

        match value {
            Value::Array(items) => {
                let mut items: Vec<_> = items.into_iter().map(sorted).collect();
                items.sort_unstable();
                format!("[{}]", items.join(","))
            }
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields
                    .into_iter()
                    .map(|(name, value)| format!("{name:?}:{}", sorted(value)))
                    .collect();
                fields.sort_unstable();
                format!("{{{}}}", fields.join(","))
            }
            scalar => scalar.to_string(),
        }
    }
    serde_json::to_value(value).ok().map(sorted)
}

#[derive(Debug)]
struct Refusal(String);

impl Refusal {
    fn new<T>(what: &str) -> Result<T, Self> {
        Err(Self(what.to_owned()))
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl ser::Error for Refusal {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Whether a value is written as `null`.
#[derive(PartialEq)]
enum Written {
    Null,
    Other,
}

struct Check;

macro_rules! plain {
    ($($method:ident: $ty:ty),* $(,)?) => {$(
        fn $method(self, _: $ty) -> Result<Written, Refusal> {
            Ok(Written::Other)
        }
    )*};
}

impl Serializer for Check {
    type Ok = Written;
    type Error = Refusal;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    plain!(serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_char: char,
        serialize_str: &str, serialize_bytes: &[u8]);

    fn serialize_f32(self, v: f32) -> Result<Written, Refusal> {
        self.serialize_f64(v.into())
    }

    fn serialize_f64(self, v: f64) -> Result<Written, Refusal> {
        if v.is_finite() {
            Ok(Written::Other)
        } else {
            Refusal::new("a float that is not finite would be stored as `null`")
        }
    }

    fn serialize_none(self) -> Result<Written, Refusal> {
        Ok(Written::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Written, Refusal> {
        if value.serialize(Check)? == Written::Null {
            return Refusal::new(
                "`Some` of a value that is stored as `null` would be read as `None`",
            );
        }
        Ok(Written::Other)
    }

    fn serialize_unit(self) -> Result<Written, Refusal> {
        Ok(Written::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Written, Refusal> {
        Ok(Written::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<Written, Refusal> {
        Ok(Written::Other)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Written, Refusal> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<Written, Refusal> {
        value.serialize(self)?;
        Ok(Written::Other)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Refusal> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Refusal> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Refusal> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refusal> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Refusal> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Refusal> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refusal> {
        Ok(self)
    }
}

macro_rules! compounds {
    ($($trait:ident::$method:ident($($name:ty)?)),* $(,)?) => {$(
        impl ser::$trait for Check {
            type Ok = Written;
            type Error = Refusal;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $(_: $name,)?
                value: &T,
            ) -> Result<(), Refusal> {
                value.serialize(Check).map(drop)
            }

            fn end(self) -> Result<Written, Refusal> {
                Ok(Written::Other)
            }
        }
    )*};
}

compounds!(
    SerializeSeq::serialize_element(),
    SerializeTuple::serialize_element(),
    SerializeTupleStruct::serialize_field(),
    SerializeTupleVariant::serialize_field(),
    SerializeStruct::serialize_field(&'static str),
    SerializeStructVariant::serialize_field(&'static str),
);

impl ser::SerializeMap for Check {
    type Ok = Written;
    type Error = Refusal;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refusal> {
        key.serialize(MapKey)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        value.serialize(Check).map(drop)
    }

    fn end(self) -> Result<Written, Refusal> {
        Ok(Written::Other)
    }
}

/// Takes strings only: JSON would turn a number into one, and some readers would not turn it back.
struct MapKey;

macro_rules! not_keys {
    ($($method:ident($($arg:ty),*) -> $out:ty),* $(,)?) => {$(
        fn $method(self, $(_: $arg),*) -> Result<$out, Refusal> {
            Refusal::new(
                "a map key that is not a string: use strings, or a `Vec` of pairs",
            )
        }
    )*};
}

type No = Impossible<(), Refusal>;

impl Serializer for MapKey {
    type Ok = ();
    type Error = Refusal;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = No;
    type SerializeStructVariant = No;

    not_keys!(
        serialize_bool(bool) -> (), serialize_i8(i8) -> (), serialize_i16(i16) -> (),
        serialize_i32(i32) -> (), serialize_i64(i64) -> (), serialize_i128(i128) -> (),
        serialize_u8(u8) -> (), serialize_u16(u16) -> (), serialize_u32(u32) -> (),
        serialize_u64(u64) -> (), serialize_u128(u128) -> (), serialize_f32(f32) -> (),
        serialize_f64(f64) -> (), serialize_bytes(&[u8]) -> (), serialize_none() -> (),
        serialize_unit() -> (), serialize_unit_struct(&'static str) -> (),
        serialize_seq(Option<usize>) -> No, serialize_tuple(usize) -> No,
        serialize_tuple_struct(&'static str, usize) -> No,
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> No,
        serialize_map(Option<usize>) -> No, serialize_struct(&'static str, usize) -> No,
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> No,
    );

    fn serialize_char(self, _: char) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_str(self, _: &str) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), Refusal> {
        self.serialize_none()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refusal> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Refusal> {
        self.serialize_none()
    }
}

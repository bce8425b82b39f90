//! The canonical form of a value, streamed into a digest.
//!
//! Each value is written as a tag and its content, so that no two values share a form. Integers
//! have one form whatever their width, and maps and structs are sorted, so that neither a wider
//! type, nor another field order, nor a `HashMap`'s own order makes equal inputs look different.

use std::borrow::Cow;
use std::fmt::{self, Display};

use super::Fingerprint;
use super::form::Form;
use serde::ser::{self, Serialize, Serializer};

/// Fingerprints a value under a name; a struct gives one fingerprint for each of its fields.
pub(super) fn fingerprint<T: Serialize + ?Sized>(
    value: &T,
    name: &'static str,
    into: &mut Vec<(Cow<'static, str>, Fingerprint)>,
) -> Result<(), Problem> {
    let mut hash = Form::new();
    let before = into.len();
    value.serialize(Canonical {
        hash: &mut hash,
        top: Some(Top { name, into }),
    })?;
    if into.len() == before {
        into.push((name.into(), digest(&hash)));
    }
    Ok(())
}

#[inline]
fn digest(form: &Form) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.copy_from_slice(&form.digest()[..16]);
    print
}

/// Where the fingerprints of a top-level struct's fields go.
struct Top<'a> {
    name: &'a str,
    into: &'a mut Vec<(Cow<'static, str>, Fingerprint)>,
}

struct Canonical<'a> {
    hash: &'a mut Form,
    top: Option<Top<'a>>,
}

impl<'a> Canonical<'a> {
    fn nested(hash: &'a mut Form) -> Self {
        Self { hash, top: None }
    }

    #[inline]
    fn put(self, tag: u8, bytes: &[u8]) -> Result<(), Problem> {
        let mut head = [tag; 9];
        head[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.hash.update(head);
        self.hash.update(bytes);
        Ok(())
    }

    fn integer(self, negative: bool, magnitude: u128) -> Result<(), Problem> {
        self.put(if negative { b'-' } else { b'+' }, &magnitude.to_le_bytes())
    }
}

/// A problem that `Serialize` reports; the value itself has no wrong form here.
#[derive(Debug)]
pub(super) struct Problem(String);

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

impl ser::Error for Problem {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

macro_rules! integers {
    ($($method:ident: $ty:ty),* $(,)?) => {$(
        fn $method(self, v: $ty) -> Result<(), Problem> {
            self.integer(false, v.into())
        }
    )*};
    (signed $($method:ident: $ty:ty),* $(,)?) => {$(
        fn $method(self, v: $ty) -> Result<(), Problem> {
            self.integer(v < 0, v.unsigned_abs().into())
        }
    )*};
}

impl<'a> Serializer for Canonical<'a> {
    type Ok = ();
    type Error = Problem;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = List<'a>;
    type SerializeMap = Entries<'a>;
    type SerializeStruct = Entries<'a>;
    type SerializeStructVariant = Entries<'a>;

    integers!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128);
    integers!(signed serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128);

    fn serialize_bool(self, v: bool) -> Result<(), Problem> {
        self.put(b'?', &[v.into()])
    }

    fn serialize_f32(self, v: f32) -> Result<(), Problem> {
        self.serialize_f64(v.into())
    }

    fn serialize_f64(self, v: f64) -> Result<(), Problem> {
        self.put(b'.', &v.to_bits().to_le_bytes())
    }

    fn serialize_char(self, v: char) -> Result<(), Problem> {
        self.serialize_str(v.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, v: &str) -> Result<(), Problem> {
        self.put(b's', v.as_bytes())
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<(), Problem> {
        self.put(b'b', v)
    }

    fn serialize_none(self) -> Result<(), Problem> {
        self.put(b'n', b"")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Problem> {
        self.hash.update(b"o");
        value.serialize(Canonical::nested(self.hash))
    }

    fn serialize_unit(self) -> Result<(), Problem> {
        self.put(b'u', b"")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Problem> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Problem> {
        self.put(b'v', variant.as_bytes())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Problem> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Problem> {
        Canonical::nested(self.hash).put(b'V', variant.as_bytes())?;
        value.serialize(Canonical::nested(self.hash))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'a>, Problem> {
        Ok(List::new(self.hash))
    }

    fn serialize_tuple(self, _: usize) -> Result<List<'a>, Problem> {
        Ok(List::new(self.hash))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List<'a>, Problem> {
        Ok(List::new(self.hash))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<List<'a>, Problem> {
        Canonical::nested(self.hash).put(b'V', variant.as_bytes())?;
        Ok(List::new(self.hash))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'a>, Problem> {
        Ok(Entries::new(self.hash, None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Entries<'a>, Problem> {
        Ok(Entries::new(self.hash, self.top))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Entries<'a>, Problem> {
        Canonical::nested(self.hash).put(b'V', variant.as_bytes())?;
        Ok(Entries::new(self.hash, None))
    }
}

/// Elements in their order; the end is marked, for the length may not be known before.
struct List<'a> {
    hash: &'a mut Form,
}

impl<'a> List<'a> {
    fn new(hash: &'a mut Form) -> Self {
        hash.update(b"[");
        Self { hash }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Problem> {
        value.serialize(Canonical::nested(self.hash))
    }

    fn close(self) -> Result<(), Problem> {
        self.hash.update(b"]");
        Ok(())
    }
}

macro_rules! lists {
    ($($trait:ident::$method:ident),* $(,)?) => {$(
        impl ser::$trait for List<'_> {
            type Ok = ();
            type Error = Problem;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Problem> {
                self.element(value)
            }

            fn end(self) -> Result<(), Problem> {
                self.close()
            }
        }
    )*};
}

lists!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
);

/// A map or a struct: the digests of its entries, sorted.
struct Entries<'a> {
    hash: &'a mut Form,
    top: Option<Top<'a>>,
    entries: Vec<[u8; 64]>,
    key: [u8; 32],
}

impl<'a> Entries<'a> {
    fn new(hash: &'a mut Form, top: Option<Top<'a>>) -> Self {
        Self {
            hash,
            top,
            entries: Vec::new(),
            key: [0; 32],
        }
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Problem> {
        let mut hash = Form::new();
        key.serialize(Canonical::nested(&mut hash))?;
        self.key = hash.digest();
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Problem> {
        let mut hash = Form::new();
        value.serialize(Canonical::nested(&mut hash))?;
        let mut entry = [0; 64];
        entry[..32].copy_from_slice(&self.key);
        entry[32..].copy_from_slice(&hash.digest());
        self.entries.push(entry);
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Problem> {
        if let Some(top) = &mut self.top {
            let mut hash = Form::new();
            value.serialize(Canonical::nested(&mut hash))?;
            top.into
                .push((format!("{}.{name}", top.name).into(), digest(&hash)));
            return Ok(());
        }
        self.key(name)?;
        self.value(value)
    }

    fn close(mut self) -> Result<(), Problem> {
        self.entries.sort_unstable();
        self.hash.update(b"{");
        self.hash.update((self.entries.len() as u64).to_le_bytes());
        for entry in &self.entries {
            self.hash.update(entry);
        }
        Ok(())
    }
}

impl ser::SerializeMap for Entries<'_> {
    type Ok = ();
    type Error = Problem;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Problem> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Problem> {
        self.value(value)
    }

    fn end(self) -> Result<(), Problem> {
        self.close()
    }
}

macro_rules! structs {
    ($($trait:ident),* $(,)?) => {$(
        impl ser::$trait for Entries<'_> {
            type Ok = ();
            type Error = Problem;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Problem> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Problem> {
                self.close()
            }
        }
    )*};
}

structs!(SerializeStruct, SerializeStructVariant);

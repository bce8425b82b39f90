//! What a world shows of its outside, whatever the type.

use std::any::Any;
use std::fmt::Debug;

/// A value that `observe` gave.
pub(super) trait Seen: Debug + Any {
    /// Whether another one is equal to it.
    fn same(&self, other: &dyn Seen) -> bool;
}

impl<V: PartialEq + Debug + Any> Seen for V {
    fn same(&self, other: &dyn Seen) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<V>() == Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_their_own_equality() {
        let one: Box<dyn Seen> = Box::new(vec![1, 2]);
        assert!(one.same(&vec![1, 2]));
        assert!(!one.same(&vec![2, 1]));
        assert!(!one.same(&"12"));
    }
}

//! Linked lists whose nodes share their memory.

use crate::engine::slot::ROOM;
use flashraid_vocabulary::slab::{NIL, Slab};

/// Lists that share their memory: first in, first out.
#[derive(Clone, Debug)]
pub(super) struct Lists<T> {
    nodes: Slab<(T, u32)>,
}

/// First and last node of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List(u32, u32);

pub(super) const EMPTY: List = List(NIL, NIL);

impl<T: Copy> Lists<T> {
    pub(super) fn new() -> Self {
        Self { nodes: Slab::with_room(ROOM) }
    }

    pub(super) fn push(&mut self, list: &mut List, value: T) {
        let node = self.nodes.put((value, NIL));
        match *list {
            EMPTY => list.0 = node,
            List(_, last) => self.nodes[last].1 = node,
        }
        list.1 = node;
    }

    pub(super) fn pop(&mut self, list: &mut List) -> Option<T> {
        let (value, next) = *self.nodes.get_mut(list.0)?;
        self.nodes.remove(list.0);
        *list = if next == NIL { EMPTY } else { List(next, list.1) };
        Some(value)
    }

    pub(super) fn find(&mut self, list: List, is_wanted: impl Fn(&T) -> bool) -> Option<&mut T> {
        let mut node = list.0;
        while node != NIL && !is_wanted(&self.nodes[node].0) {
            node = self.nodes[node].1;
        }
        self.nodes.get_mut(node).map(|(value, _)| value)
    }
}

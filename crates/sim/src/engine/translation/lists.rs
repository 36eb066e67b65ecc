//! Linked lists in one vector: their nodes share its memory.

use crate::engine::slot::{NIL, ROOM};
use flashraid_vocabulary::memory::reserved;

/// Lists that share their memory: first in, first out.
#[derive(Clone, Debug)]
pub(super) struct Lists<T> {
    nodes: Vec<(T, u32)>,
    free: u32,
}

/// First and last node of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List(u32, u32);

pub(super) const EMPTY: List = List(NIL, NIL);

impl<T: Copy> Lists<T> {
    pub(super) fn new() -> Self {
        Self { nodes: reserved(ROOM), free: NIL }
    }

    pub(super) fn push(&mut self, list: &mut List, value: T) {
        let node = match self.free {
            NIL => {
                self.nodes.push((value, NIL));
                self.nodes.len() as u32 - 1
            }
            node => {
                self.free = self.nodes[node as usize].1;
                self.nodes[node as usize] = (value, NIL);
                node
            }
        };
        match *list {
            EMPTY => list.0 = node,
            List(_, last) => self.nodes[last as usize].1 = node,
        }
        list.1 = node;
    }

    pub(super) fn pop(&mut self, list: &mut List) -> Option<T> {
        let (value, next) = *self.nodes.get(list.0 as usize)?;
        self.nodes[list.0 as usize].1 = std::mem::replace(&mut self.free, list.0);
        *list = if next == NIL { EMPTY } else { List(next, list.1) };
        Some(value)
    }

    pub(super) fn find(&mut self, list: List, is_wanted: impl Fn(&T) -> bool) -> Option<&mut T> {
        let mut node = list.0;
        while node != NIL && !is_wanted(&self.nodes[node as usize].0) {
            node = self.nodes[node as usize].1;
        }
        self.nodes.get_mut(node as usize).map(|(value, _)| value)
    }
}

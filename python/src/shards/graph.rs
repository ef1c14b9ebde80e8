//! Graphs of pairs, as columns of edges: components, rounds of stars, and deduplication.

use nearkin::shards;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arrow::{Field, Kind};
use crate::columns::column::{Column, Role, Rows};
use crate::columns::integers::{check_rows, integers};
use crate::columns::keys::{KeyType, key_kind};
use crate::error::InvalidError;
use crate::progress::run;
use crate::tables::table::Table;

/// Nodes of a graph: numbers, or keys.
enum Nodes {
    Numbers(Vec<i64>),
    Keys(Vec<Vec<u8>>),
}

fn nodes(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Nodes> {
    let rows = Rows::from_object(object, name)?;
    let of_numbers = match &rows {
        Rows::Arrow(chunks) => chunks.iter().all(|(_, chunk)| chunk.is_of_integers()),
        rows if rows.len() == 0 => true,
        rows => rows.object(0)?.extract::<i64>().is_ok(),
    };
    if of_numbers {
        return integers(object, name).map(Nodes::Numbers);
    }
    let column = Column::new(object, Role::Keys)?;
    let held = column.hold(0..column.len())?;
    let keys = held.bytes(0)?.into_iter().enumerate();
    let null = |row| InvalidError::new_err(format!("{name}[{row}] is null"));
    let key = |(row, key): (usize, Option<&[u8]>)| key.map(<[u8]>::to_vec).ok_or_else(|| null(row));
    keys.map(key).collect::<PyResult<Vec<_>>>().map(Nodes::Keys)
}

/// An operation on edges that returns pairs of nodes.
#[derive(Clone, Copy)]
enum Step {
    Components,
    Dropped,
    LargeStar,
    SmallStar,
}

impl Step {
    fn apply<N: Ord + Clone>(self, edges: impl IntoIterator<Item = (N, N)>) -> Vec<(N, N)> {
        match self {
            Self::Components => shards::components(edges),
            Self::Dropped => shards::dropped(edges),
            Self::LargeStar => shards::large_star(edges),
            Self::SmallStar => shards::small_star(edges),
        }
    }

    fn run(
        self,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        keys: &str,
        names: [&'static str; 2],
    ) -> PyResult<Table> {
        let py = a.py();
        let keys = crate::columns::keys::key_type(keys)?;
        let ends = (nodes(a, "a")?, nodes(b, "b")?);
        match ends {
            (Nodes::Numbers(a), Nodes::Numbers(b)) => {
                check_rows(a.len(), b.len(), "b")?;
                let edges = run(py, None, move |_| Ok(self.apply(a.into_iter().zip(b))))?;
                let fields = names.map(|name| Field::new(name, Kind::Integer));
                Ok(Table::filled(&fields, edges.into_iter().map(|(a, b)| [a.into(), b.into()])))
            }
            (Nodes::Keys(a), Nodes::Keys(b)) => {
                check_rows(a.len(), b.len(), "b")?;
                if keys == KeyType::Text {
                    a.iter().chain(&b).try_for_each(|key| keys.check(py, key))?;
                }
                let edges = run(py, None, move |_| Ok(self.apply(a.into_iter().zip(b))))?;
                let fields = names.map(|name| Field::new(name, key_kind(keys)));
                Ok(Table::filled(&fields, edges.iter().map(|(a, b)| [a.into(), b.into()])))
            }
            _ => Err(PyTypeError::new_err("a and b must both be numbers, or both be keys")),
        }
    }
}

/// The connected components of a graph of edges: a table of (node, component). The smallest node
/// represents a component. Nodes are integers, or keys (``str``, or ``bytes`` with
/// ``keys="bytes"``). The edges can be processed in parts: another call combines the results.
///
/// >>> from nearkin import shards
/// >>> shards.components([5, 1, 8], [3, 5, 9]).rows()
/// [(1, 1), (3, 1), (5, 1), (8, 8), (9, 8)]
#[pyfunction]
#[pyo3(signature = (a, b, *, keys="str"))]
pub(crate) fn components(
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    keys: &str,
) -> PyResult<Table> {
    Step::Components.run(a, b, keys, ["node", "component"])
}

/// The nodes that deduplication drops. In the order of the nodes, a node is dropped if it has an
/// edge to a node that was kept before it. Returns a table of (node, kept), in which ``kept`` is
/// the smallest such node. All other nodes are kept. The batch must contain complete components.
///
/// >>> from nearkin import shards
/// >>> shards.dropped([1, 3, 4], [2, 2, 3]).rows()
/// [(2, 1), (4, 3)]
#[pyfunction]
#[pyo3(signature = (a, b, *, keys="str"))]
pub(crate) fn dropped(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>, keys: &str) -> PyResult<Table> {
    Step::Dropped.run(a, b, keys, ["node", "kept"])
}

/// The first half of a round that finds connected components (large-star): connects each larger
/// neighbour of a node to the smallest node among the node and its neighbours. A batch must contain
/// all neighbours of a node, and each edge in both directions. Returns edges (node, neighbour), the
/// larger node first.
#[pyfunction]
#[pyo3(signature = (nodes, neighbours, *, keys="str"))]
pub(crate) fn large_star(
    nodes: &Bound<'_, PyAny>,
    neighbours: &Bound<'_, PyAny>,
    keys: &str,
) -> PyResult<Table> {
    Step::LargeStar.run(nodes, neighbours, keys, ["node", "neighbour"])
}

/// The second half of a round that finds connected components (small-star): connects a node and its
/// smaller neighbours to the smallest of those neighbours. For each node, one batch must contain
/// all edges to smaller nodes, as :func:`large_star` returns them. Returns edges (node, neighbour),
/// the larger node first.
#[pyfunction]
#[pyo3(signature = (nodes, neighbours, *, keys="str"))]
pub(crate) fn small_star(
    nodes: &Bound<'_, PyAny>,
    neighbours: &Bound<'_, PyAny>,
    keys: &str,
) -> PyResult<Table> {
    Step::SmallStar.run(nodes, neighbours, keys, ["node", "neighbour"])
}

/// Whether edges (node, centre) are stars around their smallest nodes: then no further round is
/// needed.
#[pyfunction]
pub(crate) fn are_stars(nodes: &Bound<'_, PyAny>, centres: &Bound<'_, PyAny>) -> PyResult<bool> {
    match (self::nodes(nodes, "nodes")?, self::nodes(centres, "centres")?) {
        (Nodes::Numbers(a), Nodes::Numbers(b)) => {
            check_rows(a.len(), b.len(), "centres")?;
            Ok(shards::are_stars(&a.into_iter().zip(b).collect::<Vec<_>>()))
        }
        (Nodes::Keys(a), Nodes::Keys(b)) => {
            check_rows(a.len(), b.len(), "centres")?;
            Ok(shards::are_stars(&a.into_iter().zip(b).collect::<Vec<_>>()))
        }
        _ => Err(PyTypeError::new_err("nodes and centres must both be numbers, or both be keys")),
    }
}

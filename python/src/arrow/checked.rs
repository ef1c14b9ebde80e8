//! Imported arrays, checked before a row is read.
//!
//! A producer passes counts and pointers, but no buffer lengths. A consumer derives the lengths:
//! from the number of rows, from the last offset, and for views from their buffer of lengths.
//!
//! Checked: counts of buffers, children and nulls; lengths without overflow; offsets that do not
//! fall; lists, views and dictionary indexes that stay within what they lead to; missing buffers.
//!
//! Believed, because no consumer can check it: each pointer leads to as many bytes as the derived
//! length (rows and their offset, last offset, lengths of view buffers, number of pointers), and
//! these bytes do not change. All reads stay within the derived lengths, whatever the bytes are.

use arrow_buffer::Buffer;

use super::ffi::Node;

/// The memory layout of the rows of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Layout {
    Null,
    /// Text or bytes with 32-bit offsets.
    Narrow,
    /// Text or bytes with 64-bit offsets.
    Wide,
    /// Text or bytes as views.
    View,
    /// Fixed-size bytes.
    Fixed(usize),
    Integer(Width),
    NarrowList,
    WideList,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Width {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

impl Layout {
    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::NarrowList | Self::WideList)
    }

    fn has_offsets(self) -> bool {
        self.is_list() || matches!(self, Self::Narrow | Self::Wide)
    }

    /// Whether `count` is the number of buffers of such an array. (Nothing of an array of nulls is
    /// read.)
    fn has_buffers(self, count: i64) -> bool {
        match self {
            Self::Null => true,
            Self::Narrow | Self::Wide => count == 3,
            Self::View => count >= 3,
            Self::Fixed(_) | Self::Integer(_) | Self::NarrowList | Self::WideList => count == 2,
        }
    }

    /// Bytes of the second buffer of an array with `rows` rows. `None` if they are too many.
    fn bytes(self, rows: usize) -> Option<usize> {
        let width = match self {
            Self::Null => 0,
            Self::Narrow | Self::NarrowList | Self::Integer(Width::I32 | Width::U32) => 4,
            Self::Wide | Self::WideList | Self::Integer(Width::I64 | Width::U64) => 8,
            Self::View => 16,
            Self::Fixed(width) => width,
            Self::Integer(Width::I8 | Width::U8) => 1,
            Self::Integer(Width::I16 | Width::U16) => 2,
        };
        let count = rows.checked_add(usize::from(self.has_offsets()))?;
        count.checked_mul(width).filter(|bytes| isize::try_from(*bytes).is_ok())
    }
}

/// What is wrong with an array, and the first row that shows it.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) row: Option<usize>,
    pub(super) what: String,
}

fn fault(what: impl Into<String>) -> Fault {
    Fault { row: None, what: what.into() }
}

fn fault_at(row: usize, what: String) -> Fault {
    Fault { row: Some(row), what }
}

/// A number of the C interface, which `arrow-array` tells as unsigned.
fn signed(number: usize) -> i64 {
    i64::try_from(number.cast_signed()).unwrap_or(i64::MAX)
}

fn count(name: &str, value: i64) -> Result<usize, Fault> {
    usize::try_from(value).map_err(|_| fault(format!("its {name} is {value}")))
}

/// A number of a buffer.
trait Number: Sized + Default {
    /// Number `at` of these bytes; 0 beyond their end.
    fn read(bytes: &[u8], at: usize) -> Self;
}

macro_rules! number {
    ($($number:ty),*) => {$(
        impl Number for $number {
            #[inline]
            #[expect(clippy::host_endian_bytes, reason = "producer and consumer share the memory")]
            fn read(bytes: &[u8], at: usize) -> Self {
                const BYTES: usize = size_of::<$number>();
                let begin = at.saturating_mul(BYTES);
                let number = bytes.get(begin..).and_then(<[u8]>::first_chunk::<BYTES>);
                number.map_or(0, |number| Self::from_ne_bytes(*number))
            }
        }
    )*};
}

number!(i8, u8, i16, u16, i32, u32, i64, u64);

/// An array whose counts, offsets and views are checked.
pub(super) struct Checked {
    layout: Layout,
    /// The number of rows, and the place of the first one in the buffers.
    rows: usize,
    first: usize,
    /// One bit per row. `None` if no row is null.
    validity: Option<Buffer>,
    /// Offsets, views, integers or fixed-size bytes.
    values: Buffer,
    /// The bytes that offsets or views lead to.
    data: Vec<Buffer>,
}

impl Checked {
    pub(super) fn new(node: Node<'_>, layout: Layout) -> Result<Self, Fault> {
        let rows = count("length", signed(node.array.len()))?;
        let first = count("offset", signed(node.array.offset()))?;
        let too_long = || fault(format!("its length is {rows}, more than memory can hold"));
        let end = first.checked_add(rows).ok_or_else(too_long)?;
        let (buffers, children) = (node.array.num_buffers(), node.array.num_children());
        if !layout.has_buffers(signed(buffers)) {
            return Err(fault(format!("it has {} buffers", signed(buffers))));
        }
        if children != usize::from(layout.is_list()) {
            return Err(fault(format!("it has {} child arrays", signed(children))));
        }
        // An array without rows may have no buffers.
        let bytes = if rows == 0 { 0 } else { layout.bytes(end).ok_or_else(too_long)? };
        let values = node.buffer(1, bytes).ok_or_else(|| fault("its values are missing"))?;
        let mut checked = Self { layout, rows, first, validity: None, values, data: Vec::new() };
        if rows > 0 && layout != Layout::Null {
            checked.validity = checked.validity_of(node, end)?;
        }
        if layout.has_offsets() {
            checked.check_offsets()?;
        }
        checked.data = checked.data_of(node)?;
        if layout == Layout::View {
            checked.check_views()?;
        }
        Ok(checked)
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    #[inline]
    pub(super) fn is_valid(&self, row: usize) -> bool {
        let bit = self.first + row;
        let is_set =
            |validity: &Buffer| validity.get(bit / 8).is_some_and(|byte| bit_of(*byte, bit));
        self.layout != Layout::Null && self.validity.as_ref().is_none_or(is_set)
    }

    /// The text or bytes of a row.
    #[inline]
    pub(super) fn bytes(&self, row: usize) -> &[u8] {
        let at = self.first + row;
        let bytes = match self.layout {
            Layout::Narrow | Layout::Wide => self.data.first().zip(self.range(row)),
            Layout::View => return self.view(row).unwrap_or_default(),
            Layout::Fixed(width) => Some((&self.values, at * width..(at + 1) * width)),
            _ => None,
        };
        bytes.and_then(|(bytes, range)| bytes.get(range)).unwrap_or_default()
    }

    /// The bytes or items of a row, as a range of what its offsets count.
    #[inline]
    pub(super) fn range(&self, row: usize) -> Option<std::ops::Range<usize>> {
        let (begin, end) = (self.offset(row), self.offset(row + 1));
        Some(usize::try_from(begin).ok()?..usize::try_from(end).ok()?)
    }

    #[inline]
    fn offset(&self, row: usize) -> i64 {
        let at = self.first + row;
        match self.layout {
            Layout::Narrow | Layout::NarrowList => i32::read(&self.values, at).into(),
            _ => i64::read(&self.values, at),
        }
    }

    /// The bytes of a view; `None` if it leads out of its buffer. Values of up to 12 bytes are in
    /// the view itself; for longer ones it contains the buffer's number and an offset.
    fn view(&self, row: usize) -> Option<&[u8]> {
        let view = self.values.get((self.first + row) * 16..)?.first_chunk::<16>()?;
        let part = |number| usize::try_from(i32::read(view, number)).ok();
        let length = part(0)?;
        if length <= 12 {
            return view.get(4..4 + length);
        }
        let (data, begin) = (self.data.get(part(2)?)?, part(3)?);
        data.get(begin..begin.checked_add(length)?)
    }

    /// The integer of a row.
    #[inline]
    pub(super) fn integer(&self, row: usize) -> Option<i128> {
        let (values, at) = (&*self.values, self.first + row);
        let Layout::Integer(width) = self.layout else {
            return None;
        };
        Some(match width {
            Width::I8 => i8::read(values, at).into(),
            Width::U8 => u8::read(values, at).into(),
            Width::I16 => i16::read(values, at).into(),
            Width::U16 => u16::read(values, at).into(),
            Width::I32 => i32::read(values, at).into(),
            Width::U32 => u32::read(values, at).into(),
            Width::I64 => i64::read(values, at).into(),
            Width::U64 => u64::read(values, at).into(),
        })
    }

    fn validity_of(&self, node: Node<'_>, end: usize) -> Result<Option<Buffer>, Fault> {
        // The producer may leave the nulls uncounted, which is -1.
        let declared = match signed(node.array.null_count()) {
            -1 => None,
            declared => Some(count("null count", declared)?),
        };
        let validity = node.has_buffer(0).then(|| node.buffer(0, end.div_ceil(8))).flatten();
        let bits = validity.as_deref().unwrap_or_default();
        let is_null = |bit: &usize| bits.get(bit / 8).is_some_and(|byte| !bit_of(*byte, *bit));
        let nulls = (self.first..end).filter(is_null).count();
        match declared {
            Some(declared) if declared != nulls => {
                Err(fault(format!("its null count is {declared}, but {nulls} rows are null")))
            }
            _ => Ok(validity.filter(|_| nulls > 0)),
        }
    }

    fn check_offsets(&self) -> Result<(), Fault> {
        let mut begin = self.offset(0);
        for row in 0..self.rows {
            let end = self.offset(row + 1);
            if begin < 0 || end < begin {
                return Err(fault_at(row, format!("it begins at offset {begin}, ends at {end}")));
            }
            begin = end;
        }
        Ok(())
    }

    /// The buffers that offsets or views lead to.
    fn data_of(&self, node: Node<'_>) -> Result<Vec<Buffer>, Fault> {
        let missing = || fault("its data is missing");
        match self.layout {
            _ if self.rows == 0 => Ok(Vec::new()),
            Layout::Narrow | Layout::Wide => {
                let (begin, end) = (self.offset(0), self.offset(self.rows));
                // A column of empty text may have no data.
                let length = if begin == end { 0 } else { count("last offset", end)? };
                Ok(vec![node.buffer(2, length).ok_or_else(missing)?])
            }
            Layout::View => {
                let last = node.array.num_buffers() - 1;
                let lengths = (last - 2).checked_mul(8).and_then(|bytes| node.buffer(last, bytes));
                let lengths = lengths.ok_or_else(missing)?;
                let data = (2..last).map(|number| {
                    let length = count("buffer length", i64::read(&lengths, number - 2))?;
                    node.buffer(number, length).ok_or_else(missing)
                });
                data.collect()
            }
            _ => Ok(Vec::new()),
        }
    }

    fn check_views(&self) -> Result<(), Fault> {
        let wrong = |row: &usize| self.is_valid(*row) && self.view(*row).is_none();
        match (0..self.rows).find(wrong) {
            Some(row) => Err(fault_at(row, "its view leads out of its buffer".to_owned())),
            None => Ok(()),
        }
    }
}

fn bit_of(byte: u8, bit: usize) -> bool {
    byte >> (bit % 8) & 1 == 1
}

/// The items of the lists of a column.
pub(super) fn items_of(lists: &Checked, node: Node<'_>, layout: Layout) -> Result<Checked, Fault> {
    let child = node.child().ok_or_else(|| fault("its items are missing"))?;
    let items = Checked::new(child, layout).map_err(|fault| {
        let holds = |row: &usize, item| lists.range(*row).is_some_and(|list| list.contains(&item));
        let row = fault.row.and_then(|item| (0..lists.rows).find(|row| holds(row, item)));
        Fault { row, what: format!("in its items: {}", fault.what) }
    })?;
    let count = items.rows;
    let beyond = |row: &usize| lists.range(*row).is_none_or(|list| list.end > count);
    match (0..lists.rows).find(beyond) {
        Some(row) => {
            let end = lists.offset(row + 1);
            Err(fault_at(row, format!("its list ends at item {end}, but there are {count} items")))
        }
        None => Ok(items),
    }
}

/// The values of a dictionary column.
pub(super) fn dictionary_of(
    indexes: &Checked,
    node: Node<'_>,
    layout: Layout,
) -> Result<Checked, Fault> {
    let dictionary = node.dictionary().ok_or_else(|| fault("its dictionary is missing"))?;
    let index = |row| indexes.is_valid(row).then(|| indexes.integer(row)).flatten();
    let values = Checked::new(dictionary, layout).map_err(|fault| {
        let shows = |row: &usize| fault.row.is_some_and(|value| index(*row) == number(value));
        let row = (0..indexes.rows).find(shows);
        Fault { row, what: format!("in its dictionary: {}", fault.what) }
    })?;
    let count = values.rows;
    for row in 0..indexes.rows {
        if let Some(index) =
            index(row).filter(|at| usize::try_from(*at).map_or(true, |at| at >= count))
        {
            let what = format!("its index is {index}, but the dictionary has {count} values");
            return Err(fault_at(row, what));
        }
    }
    Ok(values)
}

fn number(value: usize) -> Option<i128> {
    i128::try_from(value).ok()
}

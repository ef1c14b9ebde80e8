//! The worked example of Mining of Massive Datasets, section 3.3, and its slides: four sets, three
//! permutations, and the similarities of columns and of signatures.

/// The characteristic matrix of the slides: seven rows, four columns.
const MATRIX: [[u8; 4]; 7] = [
    [1, 0, 1, 0],
    [1, 0, 0, 1],
    [0, 1, 0, 1],
    [0, 1, 0, 1],
    [0, 1, 0, 1],
    [1, 0, 1, 0],
    [1, 0, 1, 0],
];

/// Three permutations: the position of each row, counted from 1.
const PERMUTATIONS: [[u64; 7]; 3] =
    [[2, 3, 7, 6, 1, 5, 4], [4, 2, 1, 3, 6, 7, 5], [3, 4, 7, 2, 6, 1, 5]];

fn column(column: usize) -> impl Iterator<Item = usize> {
    (0..MATRIX.len()).filter(move |&row| MATRIX[row][column] == 1)
}

fn signature(of: usize) -> Vec<u64> {
    let least = |places: &[u64; 7]| column(of).map(|row| places[row]).min().unwrap();
    PERMUTATIONS.iter().map(least).collect()
}

fn jaccard(a: usize, b: usize) -> f64 {
    let both = column(a).filter(|&row| MATRIX[row][b] == 1).count();
    let either = column(a).count() + column(b).count() - both;
    both as f64 / either as f64
}

fn agreement(a: usize, b: usize) -> f64 {
    let (a, b) = (signature(a), signature(b));
    let lanes = |values: &[u64]| values.iter().map(|v| v.to_le_bytes()[0]).collect::<Vec<_>>();
    f64::from(crate::compare::equal_rows(&lanes(&a), &lanes(&b), 8)) / a.len() as f64
}

#[test]
fn the_four_columns_of_the_textbook() {
    let signatures: Vec<_> = (0..4).map(signature).collect();
    assert_eq!(signatures, [[2, 2, 1], [1, 1, 2], [2, 4, 1], [1, 1, 2]]);
    let pairs = [(0, 2), (1, 3), (0, 1), (2, 3)];
    let expected = [(0.75, 2.0 / 3.0), (0.75, 1.0), (0.0, 0.0), (0.0, 0.0)];
    for ((a, b), (columns, signatures)) in pairs.into_iter().zip(expected) {
        assert!((jaccard(a, b) - columns).abs() < 1e-12);
        assert!((agreement(a, b) - signatures).abs() < 1e-12);
    }
}

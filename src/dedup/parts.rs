//! Work on several threads.

use crate::sync::computing as thread;

/// The results of `work` for all, in their order, from so many threads. Where the system refuses
/// one, this thread does its part.
pub(super) fn in_parts<T: Sync, R: Send>(
    threads: usize,
    all: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let of_part = |part: &[T]| part.iter().map(&work).collect::<Vec<R>>();
    if threads <= 1 {
        return of_part(all);
    }
    let of_part = &of_part;
    thread::scope(|scope| {
        let mut parts = all.chunks(all.len().div_ceil(threads).max(1));
        let first = parts.next().unwrap_or_default();
        let others: Vec<_> = parts
            .map(|part| {
                let builder = thread::Builder::new();
                (part, builder.spawn_scoped(scope, move || of_part(part)).ok())
            })
            .collect();
        let mut results = of_part(first);
        for (part, other) in others {
            results.extend(match other.map(thread::ScopedJoinHandle::join) {
                Some(Ok(made)) => made,
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => of_part(part),
            });
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whatever_the_threads() {
        let all: Vec<usize> = (0..101).collect();
        for threads in [0, 1, 2, 7, 200] {
            assert!(in_parts(threads, &all, |one| one * 2).into_iter().eq((0..101).map(|n| n * 2)));
        }
        assert!(in_parts(3, &[0_u8; 0], |one| *one).is_empty());
    }
}

//! Where more load stops buying throughput.

use serde::{Deserialize, Serialize};

use crate::Load;

/// In a closed loop, an added client must bring this share of what a client of
/// the smallest load brings.
pub const CLOSED_SHARE: f64 = 0.25;
/// In an open loop, this share of the added requests must be answered, measured
/// against that of the smallest load.
pub const OPEN_SHARE: f64 = 0.9;

/// A sweep stops when throughput grew less than this, twice in succession.
const LEAST_GAIN: f64 = 0.05;
/// A sweep stops when the 99th percentile grew by this factor in one step
/// while the load only doubled.
const EXPLOSION: f64 = 5.0;

/// One load of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The load.
    pub load: Load,
    /// Answers a second.
    pub throughput: f64,
    /// The 99th percentile, in microseconds.
    pub p99_us: u64,
}

/// The load beyond which more of it buys little.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// That load and what it brought.
    pub point: Point,
    /// The rule it was found by.
    pub rule: String,
    /// Whether the sweep went beyond it; else the knee may lie higher.
    pub passed: bool,
}

/// Finds the knee: from the smallest load upwards, the last before the gain in
/// throughput per added unit of load falls below a share of the smallest load's
/// throughput per unit ([`CLOSED_SHARE`], [`OPEN_SHARE`]). `None` without
/// points or where the smallest load had no answer.
pub fn knee(points: &[Point]) -> Option<Knee> {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.load.size().total_cmp(&b.load.size()));
    let first = *points.first()?;
    let alone = first.throughput / first.load.size();
    if alone <= 0.0 {
        return None;
    }
    let (share, unit, of) = match first.load {
        Load::Closed { .. } => (CLOSED_SHARE, "client", "client"),
        Load::Open { .. } => (OPEN_SHARE, "request a second", "request"),
    };
    let mut best = first;
    let mut passed = false;
    for point in &points[1..] {
        let added = point.load.size() - best.load.size();
        // The same load twice says nothing about more of it.
        if added <= 0.0 {
            continue;
        }
        if (point.throughput - best.throughput) / added < share * alone {
            passed = true;
            break;
        }
        best = *point;
    }
    Some(Knee {
        point: best,
        rule: format!(
            "the last load at which each added {unit} still brought at least {:.0} % of the \
             answers a second that a {of} of the smallest load brings",
            share * 100.0
        ),
        passed,
    })
}

/// Whether a sweep of doubling loads has seen enough.
pub(crate) fn seen_enough(points: &[Point]) -> bool {
    let gained_little =
        |pair: &[Point]| pair[1].throughput < pair[0].throughput * (1.0 + LEAST_GAIN);
    let exploded = |pair: &[Point]| {
        pair[0].p99_us > 0 && pair[1].p99_us as f64 > EXPLOSION * pair[0].p99_us as f64
    };
    let steps: Vec<&[Point]> = points.windows(2).collect();
    match steps.as_slice() {
        [.., before, last] if gained_little(before) && gained_little(last) => true,
        [.., last] => exploded(last) && gained_little(last),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(points: &[(usize, f64, u64)]) -> Vec<Point> {
        points
            .iter()
            .map(|&(concurrency, throughput, p99_us)| Point {
                load: Load::Closed { concurrency },
                throughput,
                p99_us,
            })
            .collect()
    }

    #[test]
    fn the_knee_of_a_server_that_saturates_is_where_it_bends() {
        let points = closed(&[
            (1, 10.0, 100),
            (2, 19.0, 105),
            (4, 36.0, 110),
            (8, 40.0, 200),
            (16, 40.5, 400),
        ]);
        let found = knee(&points).unwrap();
        assert_eq!(found.point.load, Load::Closed { concurrency: 4 });
        assert!(found.passed);
    }

    #[test]
    fn a_sweep_that_never_bends_says_that_it_did_not_pass_the_knee() {
        let found = knee(&closed(&[(1, 10.0, 1), (2, 20.0, 1), (4, 40.0, 1)])).unwrap();
        assert_eq!(found.point.load, Load::Closed { concurrency: 4 });
        assert!(!found.passed);
        assert!(knee(&[]).is_none());
        assert!(knee(&closed(&[(1, 0.0, 0)])).is_none());
    }

    #[test]
    fn in_an_open_loop_the_added_requests_must_be_answered() {
        let open = |rate, throughput| Point {
            load: Load::Open {
                rate,
                arrivals: crate::Arrivals::Poisson,
            },
            throughput,
            p99_us: 1,
        };
        let points = [
            open(80.0, 100.0 * 0.8),
            open(40.0, 40.0),
            open(120.0, 100.0),
        ];
        let found = knee(&points).unwrap();
        assert_eq!(found.point.load.size(), 80.0);
        assert!(found.passed);
    }

    #[test]
    fn a_sweep_stops_after_two_small_gains_or_an_explosion_that_gains_nothing() {
        let mut points = closed(&[(1, 10.0, 100), (2, 20.0, 100), (4, 20.5, 200)]);
        assert!(!seen_enough(&points));
        points.extend(closed(&[(8, 20.6, 400)]));
        assert!(seen_enough(&points));
        assert!(seen_enough(&closed(&[(1, 10.0, 100), (2, 10.1, 900)])));
        assert!(!seen_enough(&closed(&[(1, 10.0, 100), (2, 19.0, 900)])));
    }
}

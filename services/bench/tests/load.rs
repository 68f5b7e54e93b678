//! Loads on a server that behaves as each test wants.

#![allow(clippy::unwrap_used)]

mod fake;

use std::sync::atomic::Ordering;
use std::time::Duration;

use fake::{Fake, Reply, Unwatched, plan, question};
use quire_bench::{Arrivals, BenchError, Length, Load, Loads, Report, run};

const ONE: Load = Load::Closed { concurrency: 1 };

fn measured(fake: &Fake, load: Load, length: Length) -> Report {
    run(&plan(&fake.url, load, length), &Unwatched).unwrap()
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_closed_loop_asks_exactly_as_often_as_it_is_told() {
    let fake = Fake::start(|_, body| Reply::usual(&question(body)));
    let report = measured(&fake, Load::Closed { concurrency: 4 }, Length::Requests(50));
    let run = &report.runs[0];
    assert_eq!((run.requests, run.answered.count), (50, 50));
    assert_eq!((run.failed(), run.rejected.latency.count), (0, 0));
    // One more to find out who answers.
    assert_eq!(fake.searches.load(Ordering::Relaxed), 51);
    assert!((1..=4).contains(&run.generator.connections), "{run:?}");
    assert!(run.throughput > 0.0);
    assert_eq!(report.server.version.as_deref(), Some("fake 1"));
    assert_eq!(report.server.fingerprint.unwrap()["version"], "fake 1");
}

#[test]
fn latency_and_stage_times_are_those_the_server_took() {
    let fake = Fake::start(|_, body| Reply::after(millis(30), &question(body)));
    let report = measured(&fake, ONE, Length::Requests(10));
    let run = &report.runs[0];
    assert!(run.answered.min_us >= 30_000, "{run:?}");
    let stages: Vec<&str> = run.stages.keys().map(String::as_str).collect();
    assert_eq!(stages, ["embed", "queue", "total"]);
    let total = &run.stages["total"];
    assert_eq!(total.count, 10);
    assert!(total.p50_us.abs_diff(3250) <= 3, "{total:?}");
    assert!(run.throughput < 1000.0 / 30.0, "{}", run.throughput);
}

#[test]
fn an_open_loop_charges_a_stall_to_every_request_that_was_due_during_it() {
    // One connection, so that what is due during the stall waits behind it.
    let fake = Fake::start(|number, body| {
        let stall = if number == 20 {
            millis(500)
        } else {
            Duration::ZERO
        };
        Reply::after(stall, &question(body))
    });
    let load = Load::Open {
        rate: 100.0,
        arrivals: Arrivals::Fixed,
    };
    let mut plan = plan(&fake.url, load, Length::Time(millis(1500)));
    plan.most_connections = 1;
    let report = run(&plan, &Unwatched).unwrap();
    let run = &report.runs[0];
    // 100 a second over a second and a half, the first after one gap.
    assert_eq!(run.requests, 149, "{run:?}");
    assert_eq!(run.answered.count, 149);
    // Half a second of requests was due in the stall, a third of all: a client
    // that counts from when it could send would see one slow request in 149.
    assert!(run.answered.p99_us > 400_000, "{run:?}");
    assert!(run.answered.p90_us > 200_000, "{run:?}");
    assert!(run.answered.at(0.5) < 100_000, "{run:?}");
    assert!(run.generator.behind >= 40, "{:?}", run.generator);
    assert!(run.generator.worst_lateness_us > 400_000);
}

#[test]
fn an_open_loop_opens_connections_while_earlier_requests_wait() {
    let fake = Fake::start(|_, body| Reply::after(millis(200), &question(body)));
    let load = Load::Open {
        rate: 50.0,
        arrivals: Arrivals::Poisson,
    };
    let report = measured(&fake, load, Length::Requests(40));
    let run = &report.runs[0];
    assert_eq!(run.answered.count, 40);
    assert!(run.generator.connections > 4, "{:?}", run.generator);
    assert!(run.answered.p50_us >= 200_000, "{run:?}");
}

#[test]
fn check_catches_an_altered_byte_and_nothing_else() {
    let sound = Fake::start(|_, body| Reply::usual(&question(body)));
    let mut checked = plan(&sound.url, ONE, Length::Requests(30));
    checked.check = true;
    let report = run(&checked, &Unwatched).unwrap();
    assert_eq!(report.mismatches(), 0);
    assert_eq!(report.check.unwrap().asked, 3);

    let wrong = Fake::start(|number, body| {
        let text = match number {
            0..10 | 12.. => "the fare was one bit",
            _ => "the fare was one bat",
        };
        Reply::Answer {
            after: Duration::ZERO,
            body: fake::answer(&question(body), text),
        }
    });
    let mut checked = plan(&wrong.url, ONE, Length::Requests(30));
    checked.check = true;
    let report = run(&checked, &Unwatched).unwrap();
    assert_eq!(report.mismatches(), 2);
    let first = report.first_mismatch().unwrap();
    assert!(first.expected.contains("one bit"), "{first:?}");
    assert!(first.got.contains("one bat"), "{first:?}");
}

#[test]
fn refusals_and_failures_are_told_apart() {
    let fake = Fake::start(|number, body| match number % 6 {
        1 => Reply::Status(429, Some(1)),
        2 => Reply::Status(503, None),
        3 => Reply::Status(500, None),
        4 => Reply::CutShort,
        5 => Reply::Hangup,
        _ => Reply::usual(&question(body)),
    });
    // All at once, as a closed loop pauses after each refusal.
    let load = Load::Open {
        rate: 2000.0,
        arrivals: Arrivals::Fixed,
    };
    let report = measured(&fake, load, Length::Requests(60));
    let run = &report.runs[0];
    assert_eq!(run.requests, 60);
    assert_eq!(run.answered.count, 10, "{run:?}");
    assert_eq!(run.rejected.by_status[&429], 10);
    assert_eq!(run.rejected.by_status[&503], 10);
    assert_eq!(run.rejected.latency.count, 20);
    assert_eq!(run.rejected.without_retry_after, 10);
    let errors: Vec<(&str, u64)> = run
        .errors
        .iter()
        .map(|(kind, count)| (kind.as_str(), *count))
        .collect();
    assert_eq!(
        errors,
        [("closed", 10), ("short_body", 10), ("status 500", 10)]
    );
}

#[test]
fn a_client_that_gives_up_counts_as_a_timeout() {
    let fake = Fake::start(|number, body| {
        let late = if number == 0 {
            Duration::ZERO
        } else {
            millis(900)
        };
        Reply::after(late, &question(body))
    });
    let mut plan = plan(&fake.url, ONE, Length::Requests(2));
    plan.give_up = millis(150);
    let run = run(&plan, &Unwatched).unwrap().runs.remove(0);
    assert_eq!(run.errors["timeout"], 2);
    assert_eq!(run.answered.count, 0);
}

#[test]
fn a_closed_loop_waits_as_long_as_it_is_told_after_a_refusal() {
    let fake = Fake::start(|number, body| match number {
        0 => Reply::usual(&question(body)),
        _ => Reply::Status(429, Some(1)),
    });
    let report = measured(&fake, ONE, Length::Time(millis(1500)));
    assert_eq!(report.runs[0].rejected.latency.count, 2);
}

#[test]
fn the_warm_up_is_not_counted() {
    let fake = Fake::start(|number, body| {
        let slow = if number < 3 { millis(100) } else { millis(5) };
        Reply::after(slow, &question(body))
    });
    let mut plan = plan(&fake.url, ONE, Length::Time(millis(300)));
    plan.warmup = millis(400);
    let run = run(&plan, &Unwatched).unwrap().runs.remove(0);
    let all = fake.searches.load(Ordering::Relaxed);
    assert!(run.answered.max_us < 90_000, "{run:?}");
    assert!(
        run.requests > 0 && run.requests < all - 20,
        "{} of {all}",
        run.requests
    );
}

#[test]
fn a_sweep_stops_beyond_the_knee_of_a_server_with_two_workers() {
    let workers = std::sync::Arc::new((std::sync::Mutex::new(2), std::sync::Condvar::new()));
    let fake = Fake::start(move |_, body| {
        let (free, freed) = &*workers;
        let mut left = freed
            .wait_while(free.lock().unwrap(), |free| *free == 0)
            .unwrap();
        *left -= 1;
        drop(left);
        std::thread::sleep(millis(10));
        *free.lock().unwrap() += 1;
        freed.notify_one();
        Reply::usual(&question(body))
    });
    let mut plan = plan(&fake.url, ONE, Length::Time(millis(400)));
    plan.loads = Loads::Doubling;
    let report = run(&plan, &Unwatched).unwrap();
    let knee = report.knee.unwrap();
    assert!(knee.passed);
    assert_eq!(knee.point.load, Load::Closed { concurrency: 2 });
    assert!(
        (3..=5).contains(&report.runs.len()),
        "{}",
        report.runs.len()
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_local_servers_processor_time_and_memory_are_read() {
    let fake = Fake::start(|_, body| Reply::usual(&question(body)));
    let report = measured(&fake, ONE, Length::Time(millis(600)));
    // The fake runs in this process.
    assert_eq!(report.server.pid, Some(std::process::id()));
    let used = report.runs[0].server.as_ref().unwrap();
    assert!(used.cpu_seconds > 0.0 && used.cpu_seconds < 5.0, "{used:?}");
    assert!(used.rss_peak >= used.rss_start && used.rss_start > 1 << 16);
    assert!(used.high_water_mark >= used.rss_end);
    assert!(!used.rss_samples.is_empty());
}

#[test]
fn nothing_is_measured_where_no_quire_answers() {
    let refused = |url: &str| run(&plan(url, ONE, Length::Requests(1)), &Unwatched).unwrap_err();
    // Bound and dropped: nobody listens there now.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = refused(&format!("http://{free}"));
    assert!(matches!(error, BenchError::Connect { .. }), "{error}");
    let locked = Fake::start(|_, _| Reply::Status(401, None));
    let error = refused(&locked.url).to_string();
    assert!(
        error.contains("status 401: not now") && error.contains("QUIRE_KEY"),
        "{error}"
    );

    let other = Fake::start(|_, _| Reply::Answer {
        after: Duration::ZERO,
        body: "{}".to_owned(),
    });
    let mut checked = plan(&other.url, ONE, Length::Requests(1));
    checked.check = true;
    let error = run(&checked, &Unwatched).unwrap_err();
    assert!(matches!(error, BenchError::NotQuire { .. }), "{error}");
}

#[test]
fn a_check_by_a_deadline_is_refused() {
    let mut plan = plan("http://127.0.0.1:1", ONE, Length::Requests(1));
    plan.check = true;
    plan.request.insert("deadline_ms".to_owned(), 5.into());
    let error = run(&plan, &Unwatched).unwrap_err().to_string();
    assert!(error.contains("contradict"), "{error}");
}

//! A host that has closed its standard streams: no file of an index gets their descriptors, so what
//! a library of the host prints to them damages nothing.
#![expect(
    unsafe_code,
    reason = "std cannot close a standard stream: see the argument at each call"
)]

use crate::support::{Scratch, again, assert_whole, inline, params, run};
use nearkin::shards::{Adopt, Ticket, seal};
use nearkin::{Index, Options, Reader};
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Environment variable for the host: the folder of everything that it writes.
const VARIABLE: &str = "NEARKIN_TEST_WITHOUT_STREAMS";

#[test]
fn no_file_has_the_descriptor_of_a_standard_stream() {
    let scratch = Scratch::new();
    let folder = scratch.path("host");
    fs::create_dir(&folder).unwrap();
    let host = again("descriptors::the_host_without_streams", VARIABLE, &folder).output().unwrap();
    let report = fs::read_to_string(folder.join("report")).unwrap();
    assert_eq!(report, "as it should be", "{host:?}");
    assert_eq!(host.status.signal(), Some(libc::SIGKILL), "{host:?}");
    let index = Index::open(folder.join("index"), inline()).unwrap();
    assert_eq!(index.len(), 20, "every document was durable");
    assert_whole(&index);
    for (name, documents) in
        [("backup", 20), ("readers", 19), ("copy", 20), ("salvaged", 20), ("adopted", 1)]
    {
        let index = Index::open(folder.join(name), inline()).unwrap();
        assert_eq!(index.len(), documents, "{name}");
        assert_whole(&index);
    }
}

#[test]
fn the_host_without_streams() {
    let Some(folder) = std::env::var_os(VARIABLE) else { return };
    let folder = Path::new(&folder);
    let report = folder.join("report");
    let say = move |what: &str| fs::write(&report, what).unwrap();
    // Nobody would see a panic on standard error.
    let say_panic = say.clone();
    std::panic::set_hook(Box::new(move |panic| {
        say_panic(&panic.to_string());
        std::process::abort();
    }));
    let is_over = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        // Looks at the descriptors all the time: most files are open for moments.
        let watcher = scope.spawn(|| {
            let mut seen = None;
            while !is_over.load(Ordering::Relaxed) {
                seen = seen.or_else(|| (0..3).find_map(|low| ours(low, folder)));
            }
            seen
        });
        work(folder);
        is_over.store(true, Ordering::Relaxed);
        watcher.join().unwrap()
    });
    say(seen.as_deref().unwrap_or("as it should be"));
    let own = i32::try_from(std::process::id()).unwrap();
    // SAFETY: the call ends this process, which is what the test is about.
    unsafe { libc::kill(own, libc::SIGKILL) };
}

/// The file behind a descriptor, if it is in the folder.
fn ours(descriptor: i32, folder: &Path) -> Option<String> {
    let file = fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    file.starts_with(folder).then(|| format!("{descriptor} is {}", file.display()))
}

/// Closes the standard streams, as a daemon does.
fn close_streams() {
    for stream in 0..3 {
        // SAFETY: no object of this process owns the descriptor: std never closes these three, and
        // a file of the library that had one is the fault that this test finds.
        unsafe { libc::close(stream) };
    }
}

/// Prints something to all three streams: they are closed, or refuse it.
fn print() {
    let line = b"a library of the host complains about something that does no harm\n";
    for stream in 0..3 {
        // SAFETY: the call only reads `line`.
        let written = unsafe { libc::write(stream, line.as_ptr().cast(), line.len()) };
        assert_eq!(written, -1, "{stream}");
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EBADF), "{stream}");
    }
}

/// Opens files in every way that the library offers, each time without the streams.
fn work(folder: &Path) {
    let dir = folder.join("index");
    close_streams();
    let index = Index::create(&dir, &params(), inline()).unwrap();
    print();
    let insert = |from: u32| {
        for key in from..from + 5 {
            index.insert(format!("{key}"), &run(key, 10)).unwrap();
            print();
        }
    };
    insert(0);
    close_streams();
    index.flush().unwrap();
    insert(5);
    index.compact().unwrap();
    insert(10);
    close_streams();
    let reader = Reader::open(&dir, Options::default()).unwrap();
    print();
    insert(15);
    close_streams();
    assert!(reader.refresh().unwrap());
    // The next record of the log tells a reader that the last one is durable.
    assert_eq!(reader.snapshot().len(), 19);
    reader.backup(folder.join("readers")).unwrap();
    print();
    close_streams();
    index.backup(folder.join("backup")).unwrap();
    print();
    close_streams();
    let copy = Index::create(folder.join("copy"), &params(), inline()).unwrap();
    copy.import(&index.snapshot()).unwrap();
    copy.close().unwrap();
    print();
    close_streams();
    Index::salvage(folder.join("copy"), folder.join("salvaged"), None, inline()).unwrap();
    print();
    close_streams();
    let (sealed, document) = (folder.join("sealed"), index.get("0").unwrap().unwrap());
    seal(&params(), vec![document], &Ticket::new([7; 16], 1).unwrap(), &sealed).unwrap();
    let adopted = Index::create(folder.join("adopted"), &params(), inline()).unwrap();
    close_streams();
    adopted.adopt(&[sealed], Adopt::Refuse).unwrap();
    adopted.close().unwrap();
    print();
    close_streams();
    let scratch = Index::scratch(folder.join("scratch"), &params(), inline()).unwrap();
    // More than stays in memory.
    for key in 0..600_u64 {
        scratch.insert_with_payload(key, &run(0, 10), vec![7; 1 << 16]).unwrap();
    }
    scratch.flush().unwrap();
    assert!(folder.join("scratch").exists());
    print();
}

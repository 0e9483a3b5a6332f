//! The examiner of disks: what [`Vfs`] promises, tried out.

#![allow(clippy::unwrap_used, reason = "an examiner fails by panicking")]

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use ostrakon_store::error::{ErrorKind, StoreResult};
use ostrakon_store::vfs::Vfs;

/// Examines a disk below `root`, an empty directory of it.
///
/// # Panics
/// With the promise that was broken.
pub fn examine_disk(disk: &dyn Vfs, root: &Path) {
    files_are_appended_and_read_back(disk, root);
    a_random_access_file_is_written_anywhere(disk, root);
    a_file_is_streamed_and_read_in_order(disk, root);
    names_come_and_go(disk, root);
    open_files_outlive_their_names(disk, root);
    directories_are_listed_in_order(disk, root);
    small_files_are_replaced_whole(disk, root);
    one_lock_at_a_time(disk, root);
    errors_name_the_path(disk, root);
    threads_read_and_sync_beside_a_writer(disk, root);
    assert!(disk.free_space(root).unwrap() > 0);
}

fn kind<T>(result: StoreResult<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.kind(),
    }
}

fn write(disk: &dyn Vfs, path: &Path, bytes: &[u8]) {
    disk.create(path).unwrap().write_all(bytes).unwrap();
}

fn read(disk: &dyn Vfs, path: &Path) -> Vec<u8> {
    disk.read_to_vec(path, 1 << 20).unwrap()
}

fn names(disk: &dyn Vfs, dir: &Path) -> Vec<(String, bool)> {
    let entries = disk.list(dir).unwrap();
    entries
        .into_iter()
        .map(|e| (e.name.into_string().unwrap(), e.is_dir))
        .collect()
}

fn files_are_appended_and_read_back(disk: &dyn Vfs, root: &Path) {
    let path = root.join("appended");
    let mut file = disk.create(&path).unwrap();
    assert_eq!((file.position(), file.path()), (0, path.as_path()));
    file.allocate(1 << 20).unwrap();
    file.write_all(b"one ").unwrap();
    let many: Vec<[u8; 3]> = (0..3000_u32)
        .map(|i| [b' ', (i % 256) as u8, (i / 256) as u8])
        .collect();
    let slices: Vec<IoSlice<'_>> = many.iter().map(|piece| IoSlice::new(piece)).collect();
    file.write_vectored(&slices).unwrap();
    file.write_vectored(&[]).unwrap();
    file.write_vectored(&[IoSlice::new(b""), IoSlice::new(b"end"), IoSlice::new(b"")])
        .unwrap();
    let expected = [b"one ", &many.concat()[..], b"end"].concat();
    assert_eq!(file.position(), expected.len() as u64);
    file.start_writeback(0, file.position());
    // Written, though not yet synced: every reader sees it.
    assert_eq!(read(disk, &path), expected);
    file.sync_data().unwrap();
    assert_eq!(
        disk.len(&path).unwrap(),
        expected.len() as u64,
        "allocating changes no length"
    );

    let reader = disk.open(&path).unwrap();
    assert_eq!(
        (reader.len().unwrap(), reader.path()),
        (expected.len() as u64, path.as_path())
    );
    reader.prefetch(0, 100);
    let mut middle = [0; 5];
    reader.read_at(2, &mut middle).unwrap();
    assert_eq!(middle, expected[2..7]);
    reader.read_at(reader.len().unwrap(), &mut []).unwrap();
    let beyond = reader.read_at(expected.len() as u64 - 2, &mut middle);
    assert_eq!(
        kind(beyond),
        ErrorKind::Corruption,
        "a file that ends too early"
    );
    assert_eq!(
        kind(reader.read_at(u64::MAX, &mut middle)),
        ErrorKind::Corruption
    );
    file.write_all(b"!").unwrap();
    assert_eq!(
        reader.len().unwrap(),
        expected.len() as u64 + 1,
        "an open reader sees the growth"
    );
}

fn a_file_is_streamed_and_read_in_order(disk: &dyn Vfs, root: &Path) {
    let path = root.join("streamed");
    let expected: Vec<u8> = (0..3_000_001_u32).map(|at| (at / 7) as u8).collect();
    let mut file = disk.create_streaming(&path).unwrap();
    for piece in expected.chunks(123_457) {
        file.write_all(piece).unwrap();
    }
    file.finish().unwrap();
    assert_eq!(disk.len(&path).unwrap(), expected.len() as u64);
    assert_eq!(kind(disk.create_streaming(&path)), ErrorKind::AlreadyExists);

    let reader = disk.open_sequential(&path).unwrap();
    let read = |at: usize, bytes: usize| {
        let mut found = Vec::new();
        let outcome = reader.read(at as u64, bytes, &mut |seen| found.extend_from_slice(seen));
        outcome.map(|()| found)
    };
    let piece = 99_999;
    for at in (1_000_001..expected.len() - piece).step_by(piece + 1) {
        assert!(
            read(at, piece).unwrap() == expected[at..at + piece],
            "from {at} on"
        );
    }
    assert_eq!(kind(read(expected.len() - 1, 2)), ErrorKind::Corruption);
    assert_eq!(read(0, 5).unwrap(), expected[..5], "going back is allowed");
    let absent = disk.open_sequential(&root.join("absent"));
    assert_eq!(kind(absent), ErrorKind::NotFound);
    disk.remove(&path).unwrap();
}

fn a_random_access_file_is_written_anywhere(disk: &dyn Vfs, root: &Path) {
    let path = root.join("random");
    let file = disk.open_random(&path).unwrap();
    assert_eq!(file.len().unwrap(), 0);
    let far = 200_000;
    file.write_at(far, b"far").unwrap();
    file.write_at(65_534, b"across").unwrap();
    assert_eq!(file.len().unwrap(), far + 3);
    let mut bytes = vec![1; far as usize + 3];
    file.read_at(0, &mut bytes).unwrap();
    let mut expected = vec![0; far as usize];
    expected.extend_from_slice(b"far");
    expected[65_534..65_540].copy_from_slice(b"across");
    assert!(bytes == expected, "what was not written is zero");

    file.set_len(65_535).unwrap();
    file.set_len(65_600).unwrap();
    let mut tail = [1; 66];
    file.read_at(65_534, &mut tail).unwrap();
    assert_eq!(tail[0], b'a');
    assert_eq!(tail[1..], [0; 65], "what was cut off does not come back");
    assert_eq!(
        kind(file.read_at(65_599, &mut [0; 2])),
        ErrorKind::Corruption
    );
    file.sync_data().unwrap();
    drop(file);
    let again = disk.open_random(&path).unwrap();
    assert_eq!(again.len().unwrap(), 65_600, "opening keeps the content");
}

fn names_come_and_go(disk: &dyn Vfs, root: &Path) {
    let (a, b, c) = (
        root.join("name-a"),
        root.join("name-b"),
        root.join("name-c"),
    );
    write(disk, &a, b"first");
    write(disk, &b, b"second");
    assert!(disk.exists(&a).unwrap() && !disk.exists(&c).unwrap());
    disk.rename(&a, &b).unwrap();
    assert_eq!(read(disk, &b), b"first", "renaming replaces");
    assert!(!disk.exists(&a).unwrap());
    disk.hard_link(&b, &c).unwrap();
    assert_eq!(kind(disk.hard_link(&b, &c)), ErrorKind::AlreadyExists);
    disk.remove(&b).unwrap();
    assert_eq!(read(disk, &c), b"first", "the other name keeps the file");
    disk.remove(&c).unwrap();
    disk.sync_dir(root).unwrap();
    for gone in [&a, &b, &c] {
        assert!(!disk.exists(gone).unwrap());
    }
}

fn open_files_outlive_their_names(disk: &dyn Vfs, root: &Path) {
    let path = root.join("short-lived");
    write(disk, &path, b"still here");
    let reader = disk.open(&path).unwrap();
    disk.remove(&path).unwrap();
    write(disk, &path, b"another");
    let mut bytes = [0; 10];
    reader.read_at(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"still here");
    assert_eq!(read(disk, &path), b"another");
}

fn directories_are_listed_in_order(disk: &dyn Vfs, root: &Path) {
    let dir = root.join("deep").join("er");
    disk.create_dir_all(&dir).unwrap();
    disk.create_dir_all(&dir).unwrap();
    for name in ["b", "a", "a.x", "c"] {
        write(disk, &dir.join(name), b"");
    }
    disk.create_dir_all(&dir.join("a-dir").join("inner"))
        .unwrap();
    let expected = [
        ("a", false),
        ("a-dir", true),
        ("a.x", false),
        ("b", false),
        ("c", false),
    ];
    assert_eq!(
        names(disk, &dir),
        expected.map(|(name, is_dir)| (name.to_owned(), is_dir))
    );
    assert_eq!(names(disk, &root.join("deep")), [("er".to_owned(), true)]);

    disk.rename(&dir, &root.join("moved")).unwrap();
    assert!(
        disk.exists(&root.join("moved").join("a-dir").join("inner"))
            .unwrap()
    );
    assert!(!disk.exists(&dir).unwrap());
    assert!(
        disk.remove_dir(&root.join("moved")).is_err(),
        "it is not empty"
    );
    disk.remove_dir(&root.join("deep")).unwrap();
    assert!(!disk.exists(&root.join("deep")).unwrap());
}

fn small_files_are_replaced_whole(disk: &dyn Vfs, root: &Path) {
    let path = root.join("small");
    disk.replace(&path, b"one").unwrap();
    // What a crash left behind does not stand in the way.
    write(disk, &root.join("small.new"), b"half");
    disk.replace(&path, b"two, longer").unwrap();
    assert_eq!(read(disk, &path), b"two, longer");
    assert!(!disk.exists(&root.join("small.new")).unwrap());
    assert_eq!(
        kind(disk.read_to_vec(&path, 5)),
        ErrorKind::Corruption,
        "longer than allowed"
    );
}

fn one_lock_at_a_time(disk: &dyn Vfs, root: &Path) {
    let path = root.join("LOCK");
    let lock = disk.lock(&path).unwrap();
    assert_eq!(lock.path(), path);
    let error = disk.lock(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.to_string().contains("this process"), "{error}");
    drop(lock);
    drop(disk.lock(&path).unwrap());

    let readers = [disk.lock_shared(&path), disk.lock_shared(&path)];
    for reader in readers {
        let reader = reader.unwrap();
        assert_eq!(disk.lock(&path).unwrap_err().kind(), ErrorKind::Locked);
        reader.check().unwrap();
    }
    let writer = disk.lock(&path).unwrap();
    let error = disk.lock_shared(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    drop(writer);
}

fn errors_name_the_path(disk: &dyn Vfs, root: &Path) {
    let absent = root.join("absent");
    let inside = absent.join("inside");
    let file = root.join("a-file");
    write(disk, &file, b"x");
    let cases: [(&str, StoreResult<()>, ErrorKind, &Path); 10] = [
        (
            "open",
            disk.open(&absent).map(|_| ()),
            ErrorKind::NotFound,
            &absent,
        ),
        (
            "length",
            disk.len(&absent).map(|_| ()),
            ErrorKind::NotFound,
            &absent,
        ),
        ("remove", disk.remove(&absent), ErrorKind::NotFound, &absent),
        (
            "rename",
            disk.rename(&absent, &inside),
            ErrorKind::NotFound,
            &absent,
        ),
        (
            "link",
            disk.hard_link(&absent, &inside),
            ErrorKind::NotFound,
            &absent,
        ),
        (
            "list",
            disk.list(&absent).map(|_| ()),
            ErrorKind::NotFound,
            &absent,
        ),
        ("sync", disk.sync_dir(&absent), ErrorKind::NotFound, &absent),
        (
            "create",
            disk.create(&inside).map(|_| ()),
            ErrorKind::NotFound,
            &inside,
        ),
        (
            "create",
            disk.create(&file).map(|_| ()),
            ErrorKind::AlreadyExists,
            &file,
        ),
        (
            "list",
            disk.list(&file).map(|_| ()),
            ErrorKind::InvalidArgument,
            &file,
        ),
    ];
    for (what, outcome, kind, path) in cases {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{what}: {error}"
        );
    }
}

fn threads_read_and_sync_beside_a_writer(disk: &dyn Vfs, root: &Path) {
    let path = root.join("shared");
    let mut file = disk.create(&path).unwrap();
    let syncer = file.syncer();
    let reader = disk.open(&path).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20 {
                syncer.sync_data().unwrap();
            }
        });
        let reader = Arc::clone(&reader);
        scope.spawn(move || {
            for _ in 0..200 {
                let len = reader.len().unwrap();
                let mut bytes = vec![0; len as usize];
                reader.read_at(0, &mut bytes).unwrap();
                assert!(
                    bytes
                        .iter()
                        .enumerate()
                        .all(|(i, byte)| *byte == (i % 100) as u8)
                );
            }
        });
        let piece: Vec<u8> = (0..100).collect();
        for _ in 0..200 {
            file.write_all(&piece).unwrap();
        }
    });
    assert_eq!(reader.len().unwrap(), 20_000);
}

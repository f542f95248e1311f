//! Books are files: those that clients create, and those that people write.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::path::Path;

use apiserver::testing::TestServer;
use library::STORAGE_MAP;
use library::book::Book;
use library::directory::Directory;

const EMMA: &str = "
apiVersion: library.example.dev/v1
kind: Book
metadata: {name: emma}
spec: {title: Emma, author: Austen}
";

async fn start(books: &Path) -> TestServer {
    let books = books.to_owned();
    let builder = TestServer::builder().memory().storage_map(&STORAGE_MAP);
    builder.customize(move |server| server.backend::<Book>(Directory::new(books))).start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn books_of_clients_are_files_and_outlive_the_server() {
    let books = tempfile::tempdir().unwrap();
    let server = start(books.path()).await;
    let kubectl = server.kubectl();
    kubectl.run_with_input("apply --server-side -f -", EMMA).await;
    let file = books.path().join("default/emma.json");
    assert!(fs::read_to_string(&file).unwrap().contains(r#""title":"Emma""#));
    kubectl.run("patch book emma --type=merge -p {\"spec\":{\"title\":\"Emma.\"}}").await;
    assert!(fs::read_to_string(&file).unwrap().contains(r#""title":"Emma.""#));
    kubectl.until("patch book emma --type=merge -p {\"spec\":{\"title\":\"\"}}", "", "spec.title").await;
    server.stop().await;

    let server = start(books.path()).await;
    let kubectl = server.kubectl();
    let listed = kubectl.run("get books --field-selector=spec.author=Austen -o name").await;
    assert_eq!(listed, "book.library.example.dev/emma\n");
    kubectl.run("delete book emma").await;
    assert!(!file.exists());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_people_are_books() {
    let books = tempfile::tempdir().unwrap();
    let server = start(books.path()).await;
    let kubectl = server.kubectl();
    let directory = books.path().join("default");
    fs::create_dir(&directory).unwrap();
    let written = r#"{"apiVersion": "library.example.dev/v1", "kind": "Book", "spec": {"title": "Ulysses"}}"#;
    fs::write(directory.join("ulysses.json"), written).unwrap();
    kubectl.run("wait --for=create book/ulysses --timeout=30s").await;
    kubectl.run("label book ulysses shelf=3").await;
    assert!(fs::read_to_string(directory.join("ulysses.json")).unwrap().contains(r#""shelf":"3""#));
    fs::remove_file(directory.join("ulysses.json")).unwrap();
    kubectl.run("wait --for=delete book/ulysses --timeout=30s").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_read_stops_writes_and_says_why() {
    let books = tempfile::tempdir().unwrap();
    let server = start(books.path()).await;
    let kubectl = server.kubectl();
    kubectl.run_with_input("create -f -", EMMA).await;
    let broken = books.path().join("default/broken.json");
    fs::write(&broken, "{").unwrap();
    let second = EMMA.replace("emma", "second");
    kubectl.until("create -f -", &second, "could not be completed at this time").await;
    assert!(kubectl.run("get books -o name").await.contains("emma"), "reads go on");
    kubectl.until("get --raw /readyz?verbose", "", "[-]backend-books.library.example.dev failed").await;
    fs::remove_file(&broken).unwrap();
    kubectl.until("apply -f -", &second, "second").await;
    server.stop().await;
}

#[tokio::test]
async fn the_flags_cannot_give_books_an_etcd() {
    let builder = TestServer::builder().etcd("http://127.0.0.1:1", "/registry").storage_map(&STORAGE_MAP);
    let builder = builder.flag("--etcd-servers-overrides=library.example.dev/books#http://127.0.0.1:1");
    let started = builder.customize(|server| server.backend::<Book>(Directory::new("books"))).start().await;
    let refusal = started.map(drop).unwrap_err().to_string();
    let wanted = "a backend of this program keeps the objects of books.library.example.dev: \
                  --etcd-servers-overrides must not name it";
    assert!(refusal.contains(wanted), "{refusal}");
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let t = load::plan::Target {
        address: a[1].parse().unwrap(),
        authority: "x".into(),
        path: "/".into(),
    };
    let mut p = load::Plan::new(t, vec![]);
    p.connections = a[2].parse().unwrap();
    p.keep_alive = a.get(4).map(|s| s.as_str()) != Some("close");
    let req = if p.keep_alive {
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8099\r\n\r\n".to_vec()
    } else {
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8099\r\nConnection: close\r\n\r\n".to_vec()
    };
    let b = load::bare::run(&p, &req, std::time::Duration::from_secs_f64(a[3].parse().unwrap()))
        .unwrap();
    println!("{}", b.answers);
}

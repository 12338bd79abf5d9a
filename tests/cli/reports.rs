use super::{Folder, fixture, ppm};

#[test]
fn info_tells_what_a_file_holds() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(301, 203));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    let info = folder.json(&["info", "a.swl", "--json"]);
    let length = folder.read("a.swl").len();
    assert_eq!(info["file_length"], length);
    assert_eq!(
        (&info["width"], &info["height"], &info["lossless"]),
        (&301.into(), &203.into(), &true.into())
    );
    let planes = info["planes"].as_array().unwrap();
    assert_eq!(
        planes.iter().map(|p| p["kind"].as_str().unwrap()).collect::<Vec<_>>(),
        ["red", "green", "blue"]
    );
    assert!(planes.iter().all(|p| p["depth"] == 8 && p["signed"] == false));
    let loqs = info["loqs"].as_array().unwrap();
    assert_eq!(loqs[0]["prefix_bytes"], length);
    assert_eq!((&loqs[1]["width"], &loqs[1]["height"]), (&151.into(), &102.into()));
    let prefixes: Vec<_> = loqs.iter().map(|l| l["prefix_bytes"].as_u64().unwrap()).collect();
    assert!(prefixes.is_sorted_by(|a, b| a > b), "{prefixes:?}");
    assert_eq!(info["content_id"].as_str().unwrap().len(), 16);
    folder.run(&["encode", "a.ppm", "-o", "lossy.swl", "--quality", "60"]);
    assert_eq!(folder.json(&["info", "lossy.swl", "--json"])["lossless"], false);
}

#[test]
fn the_index_adds_up_to_the_file() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(301, 203));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    let info = folder.json(&["info", "a.swl", "--json", "--index"]);
    let levels = info["index"].as_array().unwrap();
    let sum = |field: &str| levels.iter().map(|l| l[field].as_u64().unwrap()).sum::<u64>();
    let length = info["file_length"].as_u64().unwrap();
    assert!(sum("payload_bytes") < length && sum("payload_bytes") > length * 8 / 10);
    assert!(sum("index_bytes") + sum("payload_bytes") < length);
    // Tiles of 128 samples a side: 3 × 2 at full size.
    assert_eq!((&levels[0]["tiles"], &levels[0]["chunks"]), (&6.into(), &18.into()));
}

#[test]
fn fewer_bytes_are_read_for_less() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(900, 700));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    let read = |words: &[&str]| {
        let all = [&["decode", "a.swl", "-o", "out.ppm", "--json"], words].concat();
        folder.json(&all)["bytes_read"].as_u64().unwrap()
    };
    let length = folder.read("a.swl").len() as u64;
    assert!(read(&["--loq", "2"]) < length / 4);
    assert!(read(&["--region", "400,300,100,100"]) < length / 4);
}

#[test]
fn compare_reports_planted_errors() {
    let folder = Folder::new();
    let picture = ppm(60, 40);
    folder.write("a.ppm", &picture);
    let mut other = picture.clone();
    let last = other.len() - 1;
    other[last] ^= 1;
    folder.write("b.ppm", &other);
    let difference = folder.json(&["compare", "a.ppm", "b.ppm", "--json"]);
    assert_eq!((&difference["identical"], &difference["max_error"]), (&false.into(), &1.into()));
    assert_eq!(difference["planes"][0]["psnr"], serde_json::Value::Null);
    let psnr = difference["planes"][2]["psnr"].as_f64().unwrap();
    assert!((psnr - 10.0 * (255.0f64 * 255.0 * 2400.0).log10()).abs() < 1e-9, "{psnr}");
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    let same = folder.json(&["compare", "a.ppm", "a.swl", "--json"]);
    assert_eq!((&same["identical"], &same["psnr"]), (&true.into(), &serde_json::Value::Null));
    let table = String::from_utf8(folder.run(&["compare", "a.ppm", "a.swl"])).unwrap();
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(table.lines().all(|l| l.starts_with("plane") || l.contains("identical")), "{table}");
}

#[test]
fn bench_reports_every_file() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(300, 200));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    folder.run(&["encode", &fixture("gray.jpg"), "-o", "b.swl"]);
    let report = folder.json(&["bench", "a.swl", "b.swl", "--repeat", "2", "--threads", "1", "--json"]);
    let files = report["files"].as_array().unwrap();
    assert_eq!((files.len(), &files[0]["file"], &files[0]["megapixels"]), (2, &"a.swl".into(), &0.06.into()));
    let seconds = |field: &str| files.iter().map(|f| f[field].as_f64().unwrap()).collect::<Vec<_>>();
    let (median, best) = (seconds("seconds_median"), seconds("seconds_best"));
    assert!(best.iter().zip(&median).all(|(b, m)| *b > 0.0 && b <= m));
    assert!(report["megapixels_per_second"].as_f64().unwrap() > 0.0);
}

#[test]
fn help_and_completions_are_printed() {
    let folder = Folder::new();
    let help = String::from_utf8(folder.run(&["--help"])).unwrap();
    for command in [
        "encode",
        "decode",
        "extract",
        "transcode",
        "info",
        "verify",
        "compare",
        "bench",
        "bisect",
        "completions",
    ] {
        assert!(help.contains(command), "{command}");
        let help = String::from_utf8(folder.run(&[command, "--help"])).unwrap();
        assert!(help.contains(&format!("stepwell {command} ")), "{command} has no example");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = String::from_utf8(folder.run(&["completions", shell])).unwrap();
        assert!(script.contains("stepwell") && script.contains("transcode"), "{shell}");
    }
}

//! Tables as pandas, R and spreadsheets write them: with an index, in quotes, with other separators. A header that is a format's but for these says
//! what is different and which option reads it; with that option it is read.

use crate::support::{file, message, options, read, request};
use flashraid_vocabulary::HostOp::{Flush, Read, Write};
use flashraid_vocabulary::HostRequest;
use flashraid_workload::TraceOptions;

/// The message, and the requests that the option in it gives.
fn cured(name: &str, text: &str, expected: &str, columns: &str, separator: &str) {
    let requests = cured_with(name, text, expected, columns, separator, "");
    assert_eq!(requests, [request(0, Write, 4096, 8192, 0), request(2_000, Read, 512, 4096, 0)], "{name}");
}

/// The same with what else the message says behind its options.
fn cured_with(name: &str, text: &str, expected: &str, columns: &str, separator: &str, also: &str) -> Vec<HostRequest> {
    let path = file(name, text.as_bytes());
    let error = read(&path, &TraceOptions::default()).unwrap_err().to_string().replace(&path.display().to_string(), "FILE");
    let shown = if separator.is_empty() { String::new() } else { format!(" --separator {separator}") };
    let ends = format!("; expected its columns alone, without quotes and with commas between, or --columns {columns}{shown}{also}");
    assert_eq!(error, format!("FILE:1:1: {expected}{ends}"));
    let mut options = TraceOptions::default();
    options.set("columns", columns).unwrap();
    if !separator.is_empty() {
        options.set("separator", separator).unwrap();
    }
    if also.contains("--on-error skip") {
        options.set("on_error", "skip").unwrap();
    }
    let path = if also.contains("tr , .") { file(name, text.replace(',', ".").as_bytes()) } else { path };
    read(&path, &options).unwrap().0
}

const INDEX: &str = "a column without a name stands before its columns (an index, which pandas leaves out with index=False)";

#[test]
fn headers_behind_an_index() {
    let own = "ts_us,op,offset,size,flags,latency_us";
    let of_own = format!("the header is that of flashraid, but {INDEX}");
    cured("i.csv", &format!(",{own}\n0,5,W,4096,8192,,\n1,7,R,512,4096,,9\n"), &of_own, "-,time:us,op,offset,size,-,-", "");
    let turned = ",size,op,latency_us,offset,ts_us\n0,8192,W,,4096,5\n1,4096,R,9,512,7\n";
    cured("turned.csv", turned, &of_own, "-,size,op,-,offset,time:us", "");
    // Saved twice, the second time with the name that pandas gives the index when it reads it.
    let twice = format!(",Unnamed: 0,{own}\n0,0,5,W,4096,8192,,\n1,1,7,R,512,4096,,9\n");
    cured("twice.csv", &twice, &of_own, "-,-,time:us,op,offset,size,-,-", "");
    let named = "the header is that of alibaba, but the column 'row' stands before its columns (an index, which pandas leaves out with index=False)";
    let text = "row,device_id,opcode,offset,length,timestamp\n0,3,W,4096,8192,1577808000000005\n1,3,R,512,4096,1577808000000007\n";
    cured("x.alibaba.csv", text, named, "-,device,op,offset,size,time:us", "");
    let text = ",Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n0,1000,a,1,Write,4096,8192,7\n1,1020,a,1,Read,512,4096,7\n";
    cured("hm_0.csv", text, &format!("the header is that of msr, but {INDEX}"), "-,time:100ns,-,device,op,offset,size,-", "");
    let text = ",ASU,LBA,Size,Opcode,Timestamp\n0,2,8,8192,W,1.5\n1,2,1,4096,r,1.500002\n";
    cured("x.spc", text, &format!("the header is that of spc, but {INDEX}"), "-,device,lba,bytes,op,time:s", "");
    let text = "\"row, of all\",\"ts_us\",\"op\",\"offset\",\"size\"\n\"1, 2\",5,\"W\",4096,8192\n3,7,\"R\",512,4096\n";
    let named = "the header is that of flashraid, but the column 'row, of all' stands before its columns (an index, which pandas leaves out with index=False)";
    cured("held.csv", text, &format!("{named}, and its names are in quotes"), "-,time:us,op,offset,size", "");
    // What no columns mean the same as has no such option: Tencent's requests are spread over their seconds.
    let text = ",Timestamp,Offset,Size,IOType,VolumeID\n0,5,8,8,1,7\n";
    for format in ["auto", "tencent"] {
        assert_eq!(
            message(format, text.as_bytes()),
            format!(
                "FILE:1:1: the header is that of tencent, but {INDEX}; expected its columns alone, without quotes and with commas between"
            )
        );
    }
    // Another format that is asked for reads what it can.
    assert!(message("fiu", text.as_bytes()).starts_with("FILE:1:"));
}

#[test]
fn headers_with_other_separators_and_in_quotes() {
    let rows = ["device_id,opcode,offset,length,timestamp", "3,W,4096,8192,1577808000000005", "3,R,512,4096,1577808000000007"];
    let columns = "device,op,offset,size,time:us";
    for (separator, name, shown) in [(";", "semicolon", "';'"), ("\t", "tab", "a tab"), ("|", "pipe", "'|'"), (" ", "blank", "blanks")] {
        let text: String = rows.iter().map(|row| row.replace(',', separator) + "\r\n").collect();
        cured("a.csv", &text, &format!("the header is that of alibaba, but its columns are separated by {shown}"), columns, name);
    }
    let quoted: String = rows.iter().map(|row| format!("\"{}\"\n", row.replace(',', "\",\""))).collect();
    cured("q.csv", &quoted, "the header is that of alibaba, but its names are in quotes", columns, "");
    // As write.csv of R writes.
    let text = "\"\",\"ts_us\",\"op\",\"offset\",\"size\"\n\"1\",5,\"W\",4096,8192\n\"2\",7,\"R\",512,4096\n";
    let expected = format!("the header is that of flashraid, but {INDEX}, and its names are in quotes");
    cured("r.csv", text, &expected, "-,time:us,op,offset,size", "");
    let text = ";ts_us;op;offset;size\n0;5;W;4096;8192\n1;7;R;512;4096\n";
    let expected = format!("the header is that of flashraid, but {INDEX}, and its columns are separated by ';'");
    cured("own.csv", text, &expected, "-,time:us,op,offset,size", "semicolon");
    // Rows without a header, of a format that its name or the user tells.
    assert_eq!(
        message("alibaba", b"3;W;4096;8192;5\n"),
        "FILE:1:1: device_id is '3;W;4096;8192;5'; expected commas between device_id,opcode,offset,length,timestamp, and not ';', or --columns \
         device,op,offset,size,time:us --separator semicolon"
    );
    assert_eq!(
        message("tencent", b"5 8 8 1 7\n"),
        "FILE:1:3: something follows Timestamp; expected commas between Timestamp,Offset,Size,IOType,VolumeID, and not blanks"
    );
    // With a comma there is a separator, and the row is wrong.
    assert_eq!(message("alibaba", b"3;W;4096,8192;5\n"), "FILE:1:1: device_id is '3;W;4096'; expected a decimal number");
}

const ROW_NAMES: &str = "its rows begin with names that the header does not name (which R leaves out with row.names=FALSE)";

/// R's write.table gives rows names, and the header none for their column.
#[test]
fn names_of_rows_without_a_name_in_the_header() {
    let text = "\"ts_us\",\"op\",\"offset\",\"size\"\n\"1\",5,\"W\",4096,8192\n\"2\",7,\"R\",512,4096\n";
    let quoted = "the header is that of flashraid, but its names are in quotes";
    cured("r.csv", text, &format!("{quoted}, and {ROW_NAMES}"), "-,time:us,op,offset,size", "");
    let blanks =
        format!("the header is that of flashraid, but its columns are separated by blanks, and its names are in quotes, and {ROW_NAMES}");
    cured("r.txt", &text.replace(',', " "), &blanks, "-,time:us,op,offset,size", "blank");
    // Names with blanks, and a table that had an index already.
    let text = "\"X\" \"ts_us\" \"op\" \"offset\" \"size\"\n\"row 1\" 0 5 \"W\" 4096 8192\n\"row 2\" 1 7 \"R\" 512 4096\n";
    let index = "the column 'X' stands before its columns (an index, which pandas leaves out with index=False)";
    let expected = format!(
        "the header is that of flashraid, but {index}, and its columns are separated by blanks, and its names are in quotes, and {ROW_NAMES}"
    );
    cured("x.txt", text, &expected, "-,-,time:us,op,offset,size", "blank");
    // A separator at the end is no field.
    let text = "\"ts_us\",\"op\",\"offset\",\"size\",\"flags\"\n5,\"W\",4096,8192,\"\"\n7,\"R\",512,4096,\n";
    cured("end.csv", text, quoted, "time:us,op,offset,size,-", "");
    // Without quotes the header is right, and no row is.
    for (header, rows, columns, fault) in [
        ("ts_us,op,offset,size", "1,5,W,4096,8192\n2,7,R,512,4096\n", "-,time:us,op,offset,size", "3: op is '5'"),
        (
            "device_id,opcode,offset,length,timestamp",
            "1,3,W,4096,8192,5\n2,3,R,512,4096,7\n",
            "-,device,op,offset,size,time:us",
            "3: opcode is '3'",
        ),
    ] {
        let text = format!("{header}\n{rows}");
        let error = message("auto", text.as_bytes());
        assert_eq!(error, format!("FILE:2:{fault}; expected the columns that the header names, but {ROW_NAMES}, or --columns {columns}"));
        let mut options = TraceOptions::default();
        options.set("columns", columns).unwrap();
        let (requests, summary) = read(&file("plain.csv", text.as_bytes()), &options).unwrap();
        assert_eq!(requests, [request(0, Write, 4096, 8192, 0), request(2_000, Read, 512, 4096, 0)]);
        let header =
            "assumed that the first line names the columns but for the first, of names of rows, as it has one field less than the next";
        assert!(summary.assumed.contains(&header.to_owned()), "{:?}", summary.assumed);
    }
}

/// Where the comma is the decimal point, the message says what makes points of them.
#[test]
fn decimal_commas() {
    let text = "ts_us;op;offset;size\n5,5;W;4096;8192\n7,5;R;512;4096\n";
    let expected = "the header is that of flashraid, but its columns are separated by ';'";
    let also = " once tr , . has made points of its decimal commas";
    let requests = cured_with("comma.csv", text, expected, "time:us,op,offset,size", "semicolon", also);
    assert_eq!(requests, [request(0, Write, 4096, 8192, 0), request(2_000, Read, 512, 4096, 0)]);
}

/// Rows without an operation, and codes of SCSI.
#[test]
fn columns_of_systor_and_cloudphysics() {
    let systor = "Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.1,W,0,4096,8192\n1.500001,,,0,8192,512\n1.500002,0.1,R,0,512,4096\n";
    let columns = "time:s,-,op,device,offset,size";
    let skip = " --on-error skip (which leaves out rows without an IOType)";
    let expected = [request(0, Write, 4096, 8192, 0), request(2_000, Read, 512, 4096, 0)];
    let separated = |name: &str| format!("the header is that of {name}, but its columns are separated by ';'");
    let quoted = |name: &str| format!("the header is that of {name}, but its names are in quotes");
    let in_quotes = |text: &str| text.lines().map(|line| format!("\"{}\"\n", line.replace(',', "\",\""))).collect::<String>();
    let with = |name: &str, text: &str, expected: &str, separator| cured_with(name, text, expected, columns, separator, skip);
    assert_eq!(with("s.csv", &systor.replace(',', ";"), &separated("systor"), "semicolon"), expected);
    assert_eq!(with("q.csv", &in_quotes(systor), &quoted("systor"), ""), expected);
    assert_eq!(read(&file("systor.csv", systor.as_bytes()), &TraceOptions::default()).unwrap().0, expected);

    let physics = "version,time,op,size,lbn\n1,5,2a,8192,8\n1,6,35,0,8\n1,6,0,0,0\n1,6,88,0,1\n1,7,88,4096,1\n";
    let columns = "-,time:us,op:scsi,bytes,lba";
    let expected = [request(0, Write, 4096, 8192, 0), request(1_000, Flush, 0, 0, 0), request(2_000, Read, 512, 4096, 0)];
    let with = |name: &str, text: &str, expected: &str, separator| cured_with(name, text, expected, columns, separator, "");
    assert_eq!(with("c.csv", &physics.replace(',', ";"), &separated("cloudphysics"), "semicolon"), expected);
    assert_eq!(with("cq.csv", &in_quotes(physics), &quoted("cloudphysics"), ""), expected);
    let (requests, own) = read(&file("cloudphysics.csv", physics.as_bytes()), &TraceOptions::default()).unwrap();
    let mut options = TraceOptions::default();
    options.set("columns", columns).unwrap();
    let (_, summary) = read(&file("c.csv", physics.as_bytes()), &options).unwrap();
    assert_eq!((requests.as_slice(), own.ignored), (&expected[..], summary.ignored));
}

/// The headers themselves are what they were, with blanks and more columns too.
#[test]
fn headers_that_are_right_are_read() {
    for (format, text) in [
        ("spc", "ASU, LBA, Size, Opcode, Timestamp, more\n0,8,4096,W,0,1\n"),
        ("systor", "Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.1,W,0,0,512\n"),
        ("cloudphysics", "version,time,op,size,lbn\n1,5,2a,512,8\n"),
        ("flashraid", "op,size,ts_us,offset\nW,4096,1.5,512\n"),
    ] {
        let (requests, summary) = read(&file("right.txt", text.as_bytes()), &TraceOptions::default()).unwrap();
        assert_eq!((requests.len(), summary.format), (1, format));
    }
    assert_eq!(read(&file("plain.ssdsim", b"0 0 8 8 0\n"), &options("ssdsim")).unwrap().0.len(), 1);
}

//! Compiles and runs C programs with the library that cargo built for these tests.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use oam_tests::oam_binary;
use serde_json::{Value, json};

/// How long a program may run. On a loaded machine, under valgrind, it is reached only by a hang.
pub(crate) const DEADLINE: Duration = Duration::from_mins(5);

/// What static programs need beside the library.
const NATIVE_LIBRARIES: &[&str] = &["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linked {
    Shared,
    Static,
}

/// A program of these tests, with what it is compiled with.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    compiler: &'static str,
    flags: Vec<&'static str>,
    sources: Vec<PathBuf>,
    linked: Linked,
}

/// The folder of this crate.
pub(crate) fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the libraries: that of this test.
pub(crate) fn library_folder() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// One of tests/programs, with its host.
pub(crate) fn program(name: &str) -> Program {
    let folder = crate_folder().join("tests/programs");
    Program {
        compiler: "cc",
        flags: Vec::new(),
        sources: vec![folder.join(name), folder.join("host.c")],
        linked: Linked::Shared,
    }
}

/// The example.
pub(crate) fn example() -> Program {
    source_program(crate_folder().join("example.c"))
}

/// A program of one file.
pub(crate) fn source_program(source: PathBuf) -> Program {
    Program { sources: vec![source], ..program("") }
}

impl Program {
    pub(crate) fn with(self, compiler: &'static str, flags: &[&'static str], linked: Linked) -> Self {
        Self { compiler, flags: flags.to_vec(), linked, ..self }
    }

    /// Compiles it, with all warnings being errors.
    pub(crate) fn build(&self) -> Built {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let libraries = library_folder();
        let mut command = Command::new(self.compiler);
        command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g"]).args(&self.flags);
        command.arg("-I").arg(crate_folder()).args(&self.sources).arg("-o").arg(&path);
        match self.linked {
            Linked::Shared => {
                command.arg("-L").arg(&libraries).args(["-lOpenAppleModelsFFI", "-lpthread"]);
                command.arg(format!("-Wl,-rpath,{}", libraries.display()));
            }
            Linked::Static => {
                command.arg(libraries.join("libOpenAppleModelsFFI.a")).args(NATIVE_LIBRARIES);
            }
        }
        let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", self.compiler));
        assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
        Built { folder, path }
    }
}

/// A program that can be run for as long as this lives.
#[derive(Debug)]
pub(crate) struct Built {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Built {
    /// A command that runs it, in a folder of its own, without what `oam` looks at in the environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_under(&[], arguments)
    }

    /// The same as an argument of another program, `tool`.
    pub(crate) fn command_under(&self, tool: &[&str], arguments: &[&str]) -> Command {
        let program = tool.first().map_or_else(|| self.path.clone(), PathBuf::from);
        let mut command = oam_tests::clean_command(program);
        if let [_, tool_arguments @ ..] = tool {
            command.args(tool_arguments).arg(&self.path);
        }
        command.args(arguments).current_dir(self.folder.path()).env_remove("OAM_BRIDGE_LOG");
        // Cargo sets it, and another library of that name may be there.
        command.env_remove("LD_LIBRARY_PATH");
        command
    }

    /// What it prints. It must end by itself, and well.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = output(self.command(arguments));
        assert!(output.status.success(), "{}: {output:?}", self.path.display());
        String::from_utf8(output.stdout).unwrap()
    }

    /// Removes what it left in its folder, and tells the path of a file that is not there.
    pub(crate) fn fresh_file(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        let _ = fs::remove_file(&path);
        path
    }
}

/// The end of a command, which must come within the deadline.
pub(crate) fn output(mut command: Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let status = wait_timeout::ChildExt::wait_timeout(&mut child, DEADLINE).unwrap();
    let status = status.unwrap_or_else(|| {
        kill(&mut child);
        panic!("{command:?} hangs")
    });
    Output { status, stdout: stdout.recv().unwrap(), stderr: stderr.recv().unwrap() }
}

pub(crate) fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn read(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (read, bytes) = mpsc::channel();
    thread::spawn(move || {
        let mut all = Vec::new();
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut all));
        let _ = read.send(all);
    });
    bytes
}

/// Options whose worker plays scripts and has these faults.
pub(crate) fn worker_options(faults: &[&str]) -> String {
    let faults = faults.iter().flat_map(|fault| ["--fault", fault]);
    let oam = oam_binary().to_str().unwrap();
    let words: Vec<_> = [oam, "worker", "scripted"].into_iter().chain(faults).collect();
    json!({"worker": words}).to_string()
}

/// The lines of an output that are JSON.
pub(crate) fn json_lines(output: &str) -> Vec<Value> {
    output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

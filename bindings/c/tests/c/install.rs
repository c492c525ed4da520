//! Programs outside this project find the library when it is installed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::build::{crate_folder, output};

const CMAKE_PROJECT: &str = "
cmake_minimum_required(VERSION 3.16)
project(use C)
find_package(OpenAppleModels 0.1 REQUIRED)
add_executable(shared use.c)
target_link_libraries(shared PRIVATE OpenAppleModels::shared)
add_executable(static use.c)
target_link_libraries(static PRIVATE OpenAppleModels::static)
";

fn succeed(command: Command) -> String {
    let shown = format!("{command:?}");
    let output = output(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shown}: {said}{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).unwrap()
}

fn installed(prefix: &Path) {
    let mut command = Command::new(crate_folder().join("../../scripts/install-library"));
    command.arg("--debug").arg(prefix);
    succeed(command);
}

fn check(program: &Path, prefix: &Path) {
    let mut command = oam_tests::clean_command(program);
    command.env("LD_LIBRARY_PATH", prefix.join("lib"));
    assert_eq!(succeed(command).trim(), env!("CARGO_PKG_VERSION"));
}

#[test]
#[ignore = "needs pkg-config and CMake, and installs large files"]
fn pkg_config_and_cmake_find_it() {
    let prefix = tempfile::tempdir().unwrap();
    installed(prefix.path());
    with_pkg_config(prefix.path());
    with_cmake(prefix.path());
    let licenses =
        fs::read_to_string(prefix.path().join("share/licenses/open-apple-models/LICENSES.txt")).unwrap();
    for name in ["the oam authors", "serde_json ", "tokio "] {
        assert!(licenses.contains(name), "the licence of {name} is missing");
    }
}

fn with_pkg_config(prefix: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("use");
    let mut command = Command::new("pkg-config");
    command.args(["--cflags", "--libs", "open-apple-models >= 0.1.0"]);
    command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = succeed(command);
    let mut command = Command::new("cc");
    command.arg(source()).args(flags.split_whitespace()).arg("-o").arg(&program);
    succeed(command);
    check(&program, prefix);
}

fn with_cmake(prefix: &Path) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("CMakeLists.txt"), CMAKE_PROJECT).unwrap();
    fs::copy(source(), folder.path().join("use.c")).unwrap();
    let mut command = Command::new("cmake");
    command.args(["-S", ".", "-B", "build"]).current_dir(folder.path()).env("CMAKE_PREFIX_PATH", prefix);
    succeed(command);
    let mut command = Command::new("cmake");
    command.args(["--build", "build"]).current_dir(folder.path());
    succeed(command);
    for program in ["shared", "static"] {
        check(&folder.path().join("build").join(program), prefix);
    }
}

fn source() -> PathBuf {
    crate_folder().join("tests/programs/use.c")
}

//! How the dynamic library is linked.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let arguments: &[&str] = match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        // Threads of a bridge that was destroyed within its callback may outlive the host's last use of the library.
        Ok("linux" | "android" | "freebsd") => &["-Wl,-soname,libOpenAppleModelsFFI.so", "-Wl,-z,nodelete"],
        Ok("macos" | "ios" | "tvos" | "visionos") => {
            &["-Wl,-install_name,@rpath/libOpenAppleModelsFFI.dylib"]
        }
        _ => &[],
    };
    for argument in arguments {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The connected socket to the supervisor. It stays open for as long as the process lives.
public struct Connection: Sendable {
    private let descriptor: Int32

    /// A connection on a socket that is connected and blocking. SIGPIPE is ignored from then on: a write to a connection that
    /// has ended fails.
    public init(socket descriptor: Int32) {
        signal(SIGPIPE, SIG_IGN)
        self.descriptor = descriptor
    }

    /// Takes descriptor 0, where a supervisor hands the connection over, to one that no other process inherits, and
    /// leaves nothing to read in its place.
    ///
    /// - Throws: ``ConnectionError`` if descriptor 0 is not a connected socket.
    public static func inherited() throws -> Connection {
        holdStandardDescriptors()
        var address = sockaddr()
        var length = socklen_t(MemoryLayout<sockaddr>.size)
        guard getpeername(STDIN_FILENO, &address, &length) == 0 else {
            throw ConnectionError(
                "descriptor 0 is not a connected socket (\(lastError())); a supervisor starts this program, or use --connect")
        }
        let descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
        let nothing = open("/dev/null", O_RDONLY)
        guard descriptor >= 0, nothing >= 0, dup2(nothing, STDIN_FILENO) >= 0 else {
            throw ConnectionError("cannot take descriptor 0 (\(lastError()))")
        }
        close(nothing)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        return Connection(socket: descriptor)
    }

    /// Connects to the Unix socket at a path: for tests and debuggers.
    ///
    /// - Throws: ``ConnectionError`` if nobody listens there.
    public static func connected(to path: String) throws -> Connection {
        holdStandardDescriptors()
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < room else { throw ConnectionError("cannot connect to \(path): the path is too long") }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = Int32(SOCK_STREAM.rawValue)
        #endif
        let descriptor = socket(AF_UNIX, kind, 0)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw ConnectionError("cannot connect to \(path): \(lastError())") }
        return Connection(socket: descriptor)
    }

    /// Opens what is closed of the descriptors 0 to 2, so that nothing that is opened later, least of all a connection, takes
    /// what is printed.
    private static func holdStandardDescriptors() {
        var descriptor: Int32
        repeat {
            descriptor = open("/dev/null", O_RDWR)
        } while (0...STDERR_FILENO).contains(descriptor)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Waits until there is something to read, or the connection has ended.
    ///
    /// - Returns: `false` if the milliseconds have passed before; -1 waits without end.
    func waitForInput(milliseconds: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, milliseconds) > 0
    }

    /// Reads what is there, or waits for it.
    ///
    /// - Returns: The bytes read, at least one; `nil` at the end of the connection.
    func read(into buffer: inout [UInt8]) -> Int? {
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { return count }
            guard count < 0, errno == EINTR else { return nil }
        }
    }

    /// Writes all of it.
    ///
    /// - Returns: `false` if the connection has ended.
    func write(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = send(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, 0)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }
}

/// A connection that could not be had.
public struct ConnectionError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

private func lastError() -> String {
    String(cString: strerror(errno))
}

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Runs the work on a thread of its own, which nothing that runs in tasks can hold up.
func startThread(_ work: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(Work(work))
    #if canImport(Darwin)
        var thread: pthread_t?
        let result = pthread_create(&thread, nil, { run($0) }, box.toOpaque())
    #else
        var thread = pthread_t()
        let result = pthread_create(&thread, nil, { $0.flatMap { run($0) } }, box.toOpaque())
    #endif
    precondition(result == 0, "a process that cannot have a thread cannot work")
    #if canImport(Darwin)
        if let thread { pthread_detach(thread) }
    #else
        pthread_detach(thread)
    #endif
}

private func run(_ box: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    #if canImport(Darwin)
        pthread_set_qos_class_self_np(QOS_CLASS_USER_INITIATED, 0)
    #endif
    Unmanaged<Work>.fromOpaque(box).takeRetainedValue().work()
    return nil
}

private final class Work: Sendable {
    let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }
}

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A state that threads share, one of which may wait for the others to change it.
final class Monitor<State>: @unchecked Sendable {
    // Sendable because the state is only ever touched under the lock.
    private var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init(_ state: State) {
        self.state = state
        mutex.initialize(to: pthread_mutex_t())
        changed.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Reads the state.
    func read<Result>(_ body: (State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(state)
    }

    /// Changes the state, and wakes who waits for that.
    func change<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_mutex_unlock(mutex)
            pthread_cond_signal(changed)
        }
        return body(&state)
    }

    /// Waits until the body returns something. It is asked after every change.
    func wait<Result>(for body: (inout State) -> Result?) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            pthread_cond_wait(changed, mutex)
        }
    }
}

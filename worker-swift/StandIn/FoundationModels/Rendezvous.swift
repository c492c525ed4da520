// A queue without room: a sender waits until somebody has taken what it sends. Like Apple's channel as it was
// measured: first in, first out, never finished, and deaf to cancellation, so that nothing comes to rely on more.

import Foundation

final class Rendezvous<Element: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var senders: [(element: Element, taken: CheckedContinuation<Void, Never>)] = []
    private var readers: [CheckedContinuation<Element, Never>] = []

    func send(_ element: Element) async {
        await withCheckedContinuation { taken in
            let reader: CheckedContinuation<Element, Never>? = lock.withLock {
                guard readers.isEmpty else { return readers.removeFirst() }
                senders.append((element, taken))
                return nil
            }
            if let reader {
                reader.resume(returning: element)
                taken.resume()
            }
        }
    }

    func next() async -> Element {
        await withCheckedContinuation { reader in
            let sender: (element: Element, taken: CheckedContinuation<Void, Never>)? = lock.withLock {
                guard senders.isEmpty else { return senders.removeFirst() }
                readers.append(reader)
                return nil
            }
            if let sender {
                reader.resume(returning: sender.element)
                sender.taken.resume()
            }
        }
    }
}

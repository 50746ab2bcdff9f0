/// A list from which elements are removed in the order in which they were added, each in constant time. A removed
/// element is released at once.
package struct Queue<Element> {
    private var elements: [Element?] = []
    /// The index in `elements` of the first element that hasn't been removed.
    private var first = 0

    package init() {}

    package var count: Int { elements.count - first }
    package var isEmpty: Bool { count == 0 }

    package mutating func append(_ element: Element) { elements.append(element) }

    /// Removes the element that was added first, and returns it; `nil` if the queue is empty.
    package mutating func popFirst() -> Element? {
        guard first < elements.count else { return nil }
        let element = elements[first]
        elements[first] = nil
        first += 1
        if first == elements.count {
            elements = []
            first = 0
        } else if first > 64, first * 2 > elements.count {
            elements.removeFirst(first)
            first = 0
        }
        return element
    }

    /// Removes all elements, and returns them in the order in which they were added.
    package mutating func popAll() -> [Element] {
        defer { self = Queue() }
        return elements[first...].compactMap { $0 }
    }
}

import FlyingFox
import FlyingSocks
import Foundation

/// A body after which the server closes the connection.
///
/// It answers requests whose own body is not read: what is left of that would otherwise be
/// taken for the next request.
struct LastBody: AsyncBufferedSequence {
  typealias Element = UInt8

  /// Ends the connection.
  struct Closes: Error {}

  let data: Data

  func makeAsyncIterator() -> Iterator { Iterator(data: data) }

  struct Iterator: AsyncBufferedIteratorProtocol {
    fileprivate var data: Data?

    fileprivate init(data: Data) { self.data = data }

    /// Only buffers are read.
    mutating func next() async throws -> UInt8? { nil }

    mutating func nextBuffer(suggested count: Int) async throws -> Data? {
      guard let data = data.take() else { throw Closes() }
      return data
    }
  }
}

import Testing

/// Marks a test that shows one of the library's guarantees.
///
/// The guarantees and their numbers are in the README and in the article `Guarantees`,
/// which lists the tests of each guarantee. `GuaranteeListTests` compares the list with the
/// tests that have this trait, and fails if a guarantee has no test.
package struct Guarantee: TestTrait {
  /// The numbers of the guarantees.
  package let numbers: [Int]

  package var comments: [Comment] {
    numbers.map { Comment(rawValue: "guarantee \($0)") }
  }
}

extension Trait where Self == Guarantee {
  /// The test shows these guarantees.
  package static func guarantee(_ numbers: Int...) -> Guarantee { Guarantee(numbers: numbers) }
}

import Properations

/// A workflow that the dashboard makes when a page asks for it.
///
/// The argument is part of the page's address, so an address with a seed in it leads to the
/// same workflow every time.
public struct WorkflowOffer: Sendable {
  /// What an offer makes.
  public struct Made: Sendable {
    let workflow: Workflow
    let presentation: WorkflowPresentation

    /// Makes the result of an offer.
    ///
    /// - Parameters:
    ///   - workflow: The workflow.
    ///   - presentation: What its page can say about it.
    public init(_ workflow: Workflow, _ presentation: WorkflowPresentation = .init()) {
      (self.workflow, self.presentation) = (workflow, presentation)
    }
  }

  let id: String
  let title: String
  let example: String
  let make: @Sendable (String) throws -> Made

  /// Describes an offer.
  ///
  /// - Parameters:
  ///   - id: The word in addresses.
  ///   - title: What is offered, for people.
  ///   - example: An argument that is suggested.
  ///   - make: Makes the workflow of an argument. An error tells the person what is wrong
  ///     with the argument. It is called on a thread of Swift's pool, so it must not block.
  public init(
    id: String, title: String, example: String,
    make: @escaping @Sendable (_ argument: String) throws -> Made
  ) {
    (self.id, self.title, self.example, self.make) = (id, title, example, make)
  }
}

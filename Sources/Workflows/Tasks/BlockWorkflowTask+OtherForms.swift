// What people write first, and what the compiler says then. It cannot be called; see
// `Future+OtherForms.swift` in `Futures`.

extension BlockWorkflowTask {
  /// Not this: a closure that throws or awaits belongs to ``AsyncWorkflowTask``.
  @available(
    *, unavailable,
    message:
      "The block throws or awaits: use 'AsyncWorkflowTask', whose closure returns the result."
  )
  public convenience init(
    name: String? = nil, block: @escaping @Sendable (TaskWork<Output>) async throws -> Void
  ) {
    fatalError("This form is unavailable.")
  }
}

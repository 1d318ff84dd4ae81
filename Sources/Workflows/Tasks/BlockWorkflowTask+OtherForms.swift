// A form that newcomers often write first. It is unavailable; see `Future+OtherForms.swift`
// in `Futures`.

extension BlockWorkflowTask {
  /// Unavailable: the closure throws or awaits; use ``AsyncWorkflowTask``.
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

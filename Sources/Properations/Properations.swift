@_exported import Futures
@_exported import OperationBridge
@_exported import TypedTasks
@_exported import Workflows

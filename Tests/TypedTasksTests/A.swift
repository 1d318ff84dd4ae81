import TypedTasks

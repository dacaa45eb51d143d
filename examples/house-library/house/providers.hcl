# The house's workers. In a library, a command that begins with ./ is relative
# to the library, so that it works from wherever it is imported.

provider "house-script" {
  extends = provider.command
  command = ["./workers/${worker.role}.sh"]
  args    = [try(param.log, null)] # a null is dropped: the reporter gets none
}

participant "reader" {
  provider = provider.house-script
  timeout  = { wall = "30m", idle = "5m" }
}

secho hello

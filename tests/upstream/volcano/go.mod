module nrtd.dev/tests/upstream/volcano

go 1.25.0

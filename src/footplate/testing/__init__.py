"""What it takes to try agents without a model: a scripted Messages API, a closed environment, real binaries."""

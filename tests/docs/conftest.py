collect_ignore_glob = ["setups/*"]  # programs, which --doctest-modules would run

# What differs where nobody watches.
ci        = true
threshold = 100

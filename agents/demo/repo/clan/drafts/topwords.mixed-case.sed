s/^tr -cs/tr '[:upper:]' '[:lower:]' | tr -cs/

#!/bin/sh
# Asks the agent's model by curl. The prompt comes on stdin, the answer goes to stdout. Address and
# token are those of the door, which is open for this run alone; the provider's key is not here.
set -eu
prompt=$(cat)

case $SETT_MODEL_API in
chat)
    url=$OPENAI_BASE_URL/chat/completions
    ask='{model: $model, messages: [{role: "user", content: $prompt}]}'
    text='.choices[0].message.content'
    ;;
responses)
    url=$OPENAI_BASE_URL/responses
    ask='{model: $model, input: $prompt, store: false}'
    text='[.output[] | select(.type == "message").content[].text] | join("")'
    ;;
messages)
    url=$ANTHROPIC_BASE_URL/v1/messages
    ask='{model: $model, max_tokens: 4000, messages: [{role: "user", content: $prompt}]}'
    text='[.content[] | select(.type == "text").text] | join("")'
    ;;
esac

answer=$(jq -n --arg model "$SETT_MODEL" --arg prompt "$prompt" "$ask" |
    curl -sS --fail-with-body -H "Authorization: Bearer $OPENAI_API_KEY" -H 'anthropic-version: 2023-06-01' \
        -H 'Content-Type: application/json' --data-binary @- "$url") || {
    printf 'no answer: %s\n' "$answer" >&2
    exit 1
}
printf '%s\n' "$answer" | jq -er "$text"

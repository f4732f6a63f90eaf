// Gradio's page hears of its events on one stream, which the server closes with a message when none is left. The page
// opens the next one with its next event, unless it believes the old one open: an event that is taken in while the
// message is on its way is never heard of, and its button does nothing from then on. So the message is held back here
// while events are on their way or unfinished, and the stream goes on with what the server has to say of those.
(() => {
  const ask = window.fetch;
  const joining = new Set(); // answers that are not here yet
  const unfinished = new Set(); // ids of events

  window.fetch = (resource, options) => {
    const { pathname } = new URL(resource.url ?? resource, document.baseURI);
    const answer = ask(resource, options);
    if (pathname.endsWith("/queue/join")) return noted(answer);
    if (pathname.endsWith("/queue/data")) return answer.then((stream) => lasting(stream, () => ask(resource, options)));
    return answer;
  };

  function noted(answer) {
    const taken = answer.then(async (joined) => {
      if (joined.ok) unfinished.add((await joined.clone().json()).event_id);
      return joined;
    });
    const here = () => joining.delete(taken);
    joining.add(taken);
    taken.then(here, here);
    return taken;
  }

  function lasting(stream, again) {
    if (!stream.ok) return stream;
    const messages = allMessages(stream, again);
    const encoder = new TextEncoder();
    const body = new ReadableStream({
      async pull(controller) {
        const { done, value } = await messages.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(`${value}\n\n`));
      },
      cancel: () => messages.return(),
    });
    return new Response(body, stream);
  }

  async function* allMessages(stream, again) {
    reading: for (;;) {
      for await (const message of messagesOf(stream)) {
        const { msg, event_id } = JSON.parse(message.replace("data: ", ""));
        if (msg === "process_completed") unfinished.delete(event_id);
        if (msg === "unexpected_error") unfinished.clear();
        if (msg === "close_stream" && (await areSomeLeft())) {
          stream = await again();
          if (!stream.ok) throw new Error(`the server answered ${stream.status}`);
          continue reading;
        }
        yield message;
      }
      return;
    }
  }

  async function areSomeLeft() {
    await Promise.allSettled(joining);
    return unfinished.size > 0;
  }

  async function* messagesOf(stream) {
    const reader = stream.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const messages = (text + part.value).split("\n\n");
        text = messages.pop();
        yield* messages;
      }
    } catch (error) {
      if (error.name !== "AbortError") throw error; // the page has left, which is no error
    } finally {
      reader.cancel().catch(() => {}); // it may have broken off
    }
  }
})();

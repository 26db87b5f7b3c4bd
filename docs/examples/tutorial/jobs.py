from backstay import Backoff, Backstay, Context

app = Backstay()


@app.job(max_attempts=3, backoff=Backoff("1s"))
async def send_welcome(ctx: Context, name: str, address: str) -> str:
    print(f"attempt {ctx.attempt}: a welcome for {name}", flush=True)
    if "@" not in address:
        raise ValueError(f"{address!r} is no address")
    return f"sent to {address}"
